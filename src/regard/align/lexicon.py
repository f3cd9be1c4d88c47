"""A table p(target word | source word), sparse, and its file."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float64, Int64

from regard.align.bitext import NULL, UNKNOWN, Bitext
from regard.arrays import ArrayFile, packed

FILE = ArrayFile(
    what="lexicon",
    maker="regard align --lexicon",
    version=1,
    kinds={
        "source_words": (np.uint8, 1),
        "target_words": (np.uint8, 1),
        "keys": (np.int64, 1),
        "probabilities": (np.float64, 1),
        "unseen": (np.float64, 1),
    },
)

SMOOTHING = 0.01
"""Added to the count of every word pair, seen or not (Moore 2004)."""

FLOOR = 1e-10
"""The least probability of a pair without smoothing: no word rules an alignment out."""


@dataclass(frozen=True)
class Lexicon:
    """How a word is translated, with probabilities.

    Attributes:
        source_words: by number; the first is NULL.
        target_words: by number.
        keys: ascending; the pair (s, t) has the key s · V_target + t.
        probabilities: p(t | s) of each pair.
        unseen: for each source word the probability of any target word without a pair.
    """

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    keys: Int64[np.ndarray, " P"]
    probabilities: Float64[np.ndarray, " P"]
    unseen: Float64[np.ndarray, " V"]

    @classmethod
    def uniform(cls, bitext: Bitext) -> "Lexicon":
        """Every target word is as probable as any other."""
        level = 1 / len(bitext.target_words)
        return cls(
            bitext.source_words,
            bitext.target_words,
            bitext.keys,
            np.full(len(bitext.keys), level),
            np.full(len(bitext.source_words), level),
        )

    def fitted(self, counts: Float64[np.ndarray, " P"], smoothing: float) -> "Lexicon":
        """The same pairs with probabilities from counts.

            p(t | s) = (c(s, t) + n) / (c(s) + n · V_target)

        With n = 0 it is the maximum of likelihood, with n > 0 that of likelihood times a
        Dirichlet prior. Without it a rare source word attracts all that its frequent
        neighbours do not explain (Moore 2004, section 4).
        """
        rows = self.keys // len(self.target_words)
        totals = np.bincount(rows, counts, len(self.source_words))
        # A word that was never counted has zeros, not NaN.
        tiny = np.finfo(np.float64).tiny
        totals = np.maximum(totals + smoothing * len(self.target_words), tiny)
        return Lexicon(
            self.source_words,
            self.target_words,
            self.keys,
            (counts + smoothing) / totals[rows],
            smoothing / totals,
        )

    @cached_property
    def source_index(self) -> dict[str, int]:
        """The number of each source word."""
        return {word: number for number, word in enumerate(self.source_words)}

    @cached_property
    def target_index(self) -> dict[str, int]:
        """The number of each target word."""
        return {word: number for number, word in enumerate(self.target_words)}

    def agreed(self, reverse: "Lexicon") -> "Lexicon":
        """What both directions say, each source word's translations normalised.

            p(t | s) ∝ p(t | s) · p(s | t)

        A source word that stands in every sentence, as a full stop does, is a second NULL to one
        direction alone: it explains whatever is frequent. Liang, Taskar & Klein 2006 make two
        directions agree by such a product, of links while they are trained. Here it is taken
        once, of tables that are. NULL has no translations.

        Args:
            reverse: p(s | t), learned from the same sentence pairs.
        """
        sources, targets = np.divmod(self.keys, len(self.target_words))
        # The numbers of this table's words in the other one; NULL is first in both.
        there = np.array([0, *(reverse.target_index[word] for word in self.source_words[1:])])
        back = np.array([reverse.source_index[word] for word in self.target_words])
        is_word = sources > 0
        keys = back[targets] * len(reverse.target_words) + there[sources]  # P
        places = np.searchsorted(reverse.keys, keys[is_word])
        assert (reverse.keys.take(places, mode="clip") == keys[is_word]).all()
        products = np.zeros(len(self.keys))
        products[is_word] = self.probabilities[is_word] * reverse.probabilities[places]
        return self.fitted(products, smoothing=0.0)

    def __len__(self) -> int:
        """How many word pairs have a probability."""
        return len(self.keys)

    def table(
        self, source: Int64[np.ndarray, "N I1"], target: Int64[np.ndarray, "N J"]
    ) -> Float64[np.ndarray, "N J I1"]:
        """p(t | s) for every pair of words of each sentence pair, at least `FLOOR`.

        An unknown source word may become anything: 1 / V_target.
        """
        width = len(self.target_words)
        unseen = np.where(source == UNKNOWN, 1 / width, self.unseen[source])[:, None, :]  # N 1 I1
        keys = source[:, None, :] * width + target[:, :, None]  # N J I1
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        is_seen = self.keys[places] == keys
        is_seen &= (source != UNKNOWN)[:, None, :] & (target != UNKNOWN)[:, :, None]
        found: Float64[np.ndarray, "N J I1"] = np.maximum(
            np.where(is_seen, self.probabilities[places], unseen), FLOOR
        )
        return found

    def translations(self, word: str, limit: int | None = None) -> list[tuple[str, float]]:
        """The target words of a source word with their probabilities, most probable first."""
        source = self.source_index.get(word)
        if source is None:
            return []
        width = len(self.target_words)
        first, last = np.searchsorted(self.keys, [source * width, (source + 1) * width])
        row = self.probabilities[first:last]
        order = np.argsort(-row, kind="stable")[:limit]
        return [
            (self.target_words[self.keys[first + place] - source * width], float(row[place]))
            for place in order
        ]

    def keep_best(self, limit: int) -> "Lexicon":
        """Only the most probable target words of each source word: a shortlist."""
        rows = self.keys // len(self.target_words)
        order = np.lexsort((-self.probabilities, rows))
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        rank = np.arange(len(rows)) - np.repeat(starts, np.diff(starts, append=len(rows)))
        kept = np.sort(order[rank < limit])
        return Lexicon(
            self.source_words,
            self.target_words,
            self.keys[kept],
            self.probabilities[kept],
            self.unseen,
        )

    def save(self, path: Path) -> None:
        """Write the table to a file: a zip of plain arrays, no pickle.

        Raises:
            ModelFileError: it cannot be written.
        """
        FILE.write(
            path,
            {
                "source_words": packed(self.source_words),
                "target_words": packed(self.target_words),
                "keys": self.keys,
                "probabilities": self.probabilities,
                "unseen": self.unseen,
            },
        )

    @classmethod
    def load(cls, path: Path) -> "Lexicon":
        """Read what `save` wrote.

        Raises:
            ModelFileError: it is missing, damaged or not a lexicon.
        """
        arrays = FILE.read(path)
        source_words = FILE.words(arrays["source_words"], path)
        target_words = FILE.words(arrays["target_words"], path)
        keys, probabilities, unseen = arrays["keys"], arrays["probabilities"], arrays["unseen"]
        fault = _fault(source_words, target_words, keys, probabilities, unseen)
        if fault:
            raise FILE.refusal(path, fault)
        return cls(source_words, target_words, keys, probabilities, unseen)


def _fault(
    source_words: Sequence[str],
    target_words: Sequence[str],
    keys: Int64[np.ndarray, " P"],
    probabilities: Float64[np.ndarray, " Q"],
    unseen: Float64[np.ndarray, " U"],
) -> str:
    """What is wrong with a table, in words; empty where nothing is."""
    width, height = len(target_words), len(source_words)
    if source_words[0] != NULL:
        return "the first source word is not the empty one"
    if len(set(source_words)) < height or len(set(target_words)) < width:
        return "a word is listed twice"
    if not len(keys) or len(keys) != len(probabilities):
        return f"{len(keys):,} word pairs have {len(probabilities):,} probabilities"
    if keys[0] < 0 or keys[-1] >= width * height or (np.diff(keys) <= 0).any():
        return "the word pairs are out of order"
    if len(unseen) != height:
        return f"{height:,} source words have {len(unseen):,} probabilities of unseen words"
    num_seen = np.bincount(keys // width, minlength=height)
    sums = np.bincount(keys // width, probabilities, height) + (width - num_seen) * unseen
    # Written so that NaN is refused too.
    if not ((probabilities >= 0).all() and (unseen >= 0).all() and (sums <= 1 + 1e-6).all()):
        return "the probabilities of a source word are not a distribution"
    return ""
