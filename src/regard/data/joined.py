"""The phrasebook in longer sentences: several of its own, one after the other.

    « Jane visite la gare. Il neige. » → "Jane visits the station. It is snowing."

A translation of the parts is a translation of the whole. So a system that translates each part and
fails on the whole fails because of its length, and of nothing else: no word, no form and no rule
of grammar is new in a long sentence.
"""

import random
from collections.abc import Sequence

from regard.data.corpus import Example, Splits
from regard.data.phrasebook import SIZE, phrasebook

LEARNED = 20
ASKED = 60


def joined(*, size: int = SIZE, seed: int = 0) -> Splits:
    """A corpus for questions of length; a pure function of its arguments.

    The sources of train and valid have up to LEARNED words, those of test up to ASKED. Each split
    joins sentences of the phrasebook's own, so that no part of a test sentence is in the others.

    Args:
        size: pairs in all three splits together.
        seed: of the phrasebook, and of what is joined.

    Raises:
        ConfigError: the phrasebook cannot have this size.
    """
    parts = phrasebook(size=size, seed=seed)
    generator = random.Random(f"joined {seed}")
    return Splits(
        train=[_join(parts.train, LEARNED, generator) for _ in parts.train],
        valid=[_join(parts.valid, LEARNED, generator) for _ in parts.valid],
        test=[_join(parts.test, ASKED, generator) for _ in parts.test],
    )


def _join(parts: Sequence[Example], longest: int, generator: random.Random) -> Example:
    """One sentence, and as many more as fit into a random number of words up to the longest."""
    room = generator.randint(1, longest)
    chosen = [generator.choice(parts)]
    num_words = _num_words(chosen[0])
    while (num_words := num_words + _num_words(another := generator.choice(parts))) <= room:
        chosen.append(another)
    return Example(
        " ".join(part.source for part in chosen), " ".join(part.target for part in chosen)
    )


def _num_words(example: Example) -> int:
    return len(example.source.split())
