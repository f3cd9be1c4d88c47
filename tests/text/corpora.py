"""Small generated text for tokenisers to learn from."""

import random

from regard.text.config import TextConfig
from regard.text.kind import Kind
from regard.text.normal import Form
from regard.text.pair import TokeniserPair
from regard.text.train import train_tokenisers

KINDS: tuple[Kind, ...] = ("bpe", "unigram", "words", "characters", "bytes")
SUBWORDS: tuple[Kind, ...] = ("bpe", "unigram")

ENGLISH = "the cat sat on a mat Jane visits Africa in September and sees many lions there"
FRENCH = "le chat était assis sur un tapis Jane visite l'Afrique en septembre où vivent"


def sentences(words: str, *, count: int = 300, seed: int = 0) -> list[str]:
    chosen = random.Random(seed)
    return [
        " ".join(chosen.choices(words.split(), k=chosen.randint(3, 12))) + "." for _ in range(count)
    ]


def trained(
    kind: Kind,
    *,
    vocab_size: int = 400,
    joint: bool = True,
    sampling: float = 0.0,
    normalise: Form = "none",
) -> TokeniserPair:
    config = TextConfig(
        kind=kind, vocab_size=vocab_size, joint=joint, sampling=sampling, normalise=normalise
    )
    return train_tokenisers(config, sentences(FRENCH), sentences(ENGLISH, seed=1))
