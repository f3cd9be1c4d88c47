"""How far an alignment jumps from one target word to the next."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float64, Int64

FARTHEST = 10
"""Distances beyond this share a bucket, one for each direction."""

NUM_BUCKETS = 3 * FARTHEST + 1


@dataclass(frozen=True, slots=True)
class Jumps:
    """The probability of going from source position i' to i in a sentence of I words.

        p(i | i', I) = c(i − i') / Σ_{k=1..I} c(k − i')

    Vogel, Ney & Tillmann 1996, equation 4. Differs: distances are bucketed, and words in the
    same bucket share its weight; the first jump, from before the sentence, has weights of
    its own.

    Attributes:
        weights: c of the distances −10 and below, −9 … 9, 10 and above, then that of first
            jumps to the positions 1 … 9, 10 and beyond.
    """

    weights: Float64[np.ndarray, " buckets"]

    @classmethod
    def level(cls) -> "Jumps":
        """Every bucket weighs the same."""
        return cls(np.ones(NUM_BUCKETS))

    @classmethod
    def fitted(cls, counts: Float64[np.ndarray, " buckets"]) -> "Jumps":
        """Weights from expected counts; one jump is added to each, so that none is impossible."""
        return cls(counts + 1.0)

    @staticmethod
    def count(moves: Float64[np.ndarray, "I1 I"]) -> Float64[np.ndarray, " buckets"]:
        """The moves between positions, 0 being the start, as moves of each bucket."""
        buckets, _ = _buckets(moves.shape[1])
        counts: Float64[np.ndarray, " buckets"] = np.bincount(
            buckets.ravel(), moves.ravel(), NUM_BUCKETS
        )
        return counts

    def matrix(self, num_words: int) -> Float64[np.ndarray, "I1 I"]:
        """p(i | i') for a sentence of so many words; the first row is that of the start."""
        buckets, share = _buckets(num_words)
        weights = self.weights[buckets] * share
        normalised: Float64[np.ndarray, "I1 I"] = weights / weights.sum(1, keepdims=True)
        return normalised


@lru_cache(maxsize=512)
def _buckets(num_words: int) -> tuple[Int64[np.ndarray, "I1 I"], Float64[np.ndarray, "I1 I"]]:
    """The bucket of each move, and the share a word has in its bucket's weight."""
    origin = np.arange(num_words + 1)[:, None]
    word = np.arange(1, num_words + 1)[None, :]
    buckets = np.clip(word - origin, -FARTHEST, FARTHEST) + FARTHEST
    buckets[0] = np.minimum(word[0], FARTHEST) + 2 * FARTHEST
    sizes = np.zeros((num_words + 1, NUM_BUCKETS))
    np.add.at(sizes, (origin, buckets), 1.0)
    return buckets, 1 / sizes[origin, buckets]
