"""From pieces to words: attention between words, and the alignment it suggests."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from regard.shapes import Float, Tensor
from regard.text.encoded import Encoded
from regard.text.spans import Cut, piece_words, word_spans


def words(encoded: Encoded, cut: Cut = word_spans) -> list[str]:
    """The words of a text, punctuation split off unless `cut` finds others."""
    return [encoded.text[start:end] for start, end in cut(encoded.text)]


def merge_to_words(
    weights: Float[Tensor, "T S"], target: Encoded, source: Encoded, cut: Cut = word_spans
) -> Float[Tensor, "t s"]:
    """Attention between words, from attention between pieces.

    A word receives what its pieces receive together and looks where its pieces look on
    average (Clark et al. 2019, section 4.1). Rows and columns beyond the pieces, the end
    tokens, are left out.
    """
    to_source = _membership(source, cut)  # S s
    to_target = _membership(target, cut)  # T t
    by_source = weights[: len(target.ids), : len(source.ids)] @ to_source  # T s
    return (to_target.T @ by_source) / to_target.sum(0).clamp_min(1).unsqueeze(1)


def _membership(encoded: Encoded, cut: Cut) -> Float[Tensor, "pieces words"]:
    """1 where a piece belongs to a word."""
    matrix = torch.zeros(len(encoded.ids), len(cut(encoded.text)))
    for piece, word in enumerate(piece_words(encoded, cut)):
        if word >= 0:
            matrix[piece, word] = 1.0
    return matrix


@dataclass(frozen=True, slots=True)
class Alignment:
    """Which target word came from which source word.

    Attributes:
        source: the source words.
        target: the target words.
        links: pairs (source word, target word), counted from 0.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[tuple[int, int], ...]

    def pharaoh(self) -> str:
        """The links as `i-j`, source first, as aligners write them."""
        return " ".join(f"{i}-{j}" for i, j in self.links)


def align_words(
    weights: Float[Tensor, "T S"], target: Encoded, source: Encoded, cut: Cut = word_spans
) -> Alignment:
    """Link each target word to the source word it looked at most."""
    between = merge_to_words(weights, target, source, cut)
    best: Sequence[int] = between.argmax(1).tolist() if between.numel() else []
    links = tuple(sorted((i, j) for j, i in enumerate(best)))
    return Alignment(tuple(words(source, cut)), tuple(words(target, cut)), links)
