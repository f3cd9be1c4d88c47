"""One word in two contexts: how far its vector moves, layer by layer."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from regard.errors import ConfigError
from regard.models.interface import Seq2Seq
from regard.shapes import Float, Tensor
from regard.text.encoded import Encoded
from regard.text.spans import piece_words, word_spans
from regard.text.tokeniser import Tokeniser


@dataclass(frozen=True, slots=True)
class Contexts:
    """A word as the encoder sees it in two sentences.

    Attributes:
        word: the word.
        sentences: the two.
        cosines: between its two vectors, before the first layer and after each.
    """

    word: str
    sentences: tuple[str, str]
    cosines: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain lists, numbers and strings."""
        return {
            "word": self.word,
            "sentences": list(self.sentences),
            "cosines": list(self.cosines),
        }


def word_in_contexts(
    model: Seq2Seq[Any],
    tokeniser: Tokeniser,
    first: str,
    second: str,
    word: str,
    *,
    max_pieces: int | None = None,
) -> Contexts:
    """Compare the vectors of a word in two sentences.

        cos_l = h_lᵀ h'_l / (‖h_l‖ ‖h'_l‖)

    where h_l is the mean over the word's pieces of what layer l of the encoder makes of them;
    h_0 is its embedding with its position. Before the first layer a word knows only where it
    stands; what the layers add is its context (Ethayarajh 2019, "self-similarity").

    Args:
        model: whose encoder reads.
        tokeniser: of the source.
        first: a sentence with the word, such as "… the bank after crossing the street".
        second: another, such as "… the bank after crossing the river".
        word: compared where it stands first; case counts.
        max_pieces: of a sentence, where the encoder reads no more.

    Raises:
        ConfigError: a sentence is too long or does not have the word, or no piece is the word's
            own, or the encoder has no layers.
    """
    vectors = [_vectors(model, tokeniser, text, word, max_pieces) for text in (first, second)]
    cosines = torch.cosine_similarity(vectors[0], vectors[1], dim=-1)
    return Contexts(word, (first, second), tuple(cosines.tolist()))


@torch.inference_mode()
def encoder_states(
    model: Seq2Seq[Any], tokeniser: Tokeniser, text: Encoded
) -> Float[Tensor, "L S D"]:
    """What enters the first layer of the encoder, and what leaves each; the end token last.

    Raises:
        ConfigError: the encoder is no stack of layers.
    """
    model.eval()
    device = model.output.weight.device
    source = torch.tensor([[*text.ids, tokeniser.eos]], device=device)
    with _layers_watched(model) as seen:
        memory = model.encode(source, torch.ones_like(source, dtype=torch.bool))
    shape = memory.states.shape
    if not seen or any(not isinstance(each, Tensor) or each.shape != shape for each in seen):
        raise ConfigError("this model's encoder is no stack of layers that could be looked into")
    return torch.cat(seen).cpu()


@contextmanager
def _layers_watched(model: nn.Module) -> Iterator[list[Tensor]]:
    """While open, note the states before the first layer and after every layer."""
    seen: list[Tensor] = []
    hooks = []
    stack = getattr(getattr(model, "encoder", None), "layers", ())
    for number, layer in enumerate(stack):
        if number == 0:
            hooks.append(layer.register_forward_pre_hook(lambda _, given: seen.append(given[0])))
        hooks.append(layer.register_forward_hook(lambda *passed: seen.append(passed[-1])))
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def _vectors(
    model: Seq2Seq[Any], tokeniser: Tokeniser, text: str, word: str, max_pieces: int | None
) -> Float[Tensor, "L D"]:
    encoded = tokeniser.encode(text)
    if max_pieces is not None and len(encoded.ids) > max_pieces:
        raise ConfigError(
            f"a sentence has {len(encoded.ids):,} pieces, and the model takes {max_pieces:,} at "
            "most; shorten it"
        )
    words = [text[start:end] for start, end in word_spans(text)]
    if word not in words:
        raise ConfigError(f'"{text}" has no word {word}; it has: {", ".join(words)}')
    place = words.index(word)
    pieces = [piece for piece, of in enumerate(piece_words(encoded)) if of == place]
    if not pieces:
        raise ConfigError(
            f"{word}: no piece of the sentence is its own, so it has no vector; try another word"
        )
    return encoder_states(model, tokeniser, encoded)[:, pieces].mean(1)
