"""Random cuts of words into pieces, a pure function of the seed in every process.

SentencePiece samples too, but version 0.2.2 draws other pieces for the same seed in every process,
so that a resumed training would read other pieces than an unbroken one.
"""

import math
import re
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import accumulate
from random import Random

from regard.text.tokeniser import SPACE_MARK

# Words whose merges or lattices are remembered; most of a corpus is a few thousand words.
KNOWN_WORDS = 2**16
# An unknown character costs this much more than the rarest piece, as in SentencePiece.
UNKNOWN_PENALTY = 10.0

_WORD = re.compile(f"{SPACE_MARK}?[^{SPACE_MARK}]*")


def words(text: str) -> Iterator[str]:
    """Stretches that no piece crosses: each ▁ begins one. Joined, they are the text."""
    return (word for word in _WORD.findall(text) if word)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the vocabulary.

    Attributes:
        id: its number.
        score: log p of a unigram piece; of a BPE piece, the higher the earlier it was learnt.
    """

    id: int
    score: float


class BPEDropout:
    """Byte-pair encoding in which, before every merge, each possible one is left out with
    probability p; the best of the others is made, and where none is left the word is cut.

    Provilkov, Emelianenko & Voita 2020, algorithm 1. Differs from SentencePiece's, which never
    again offers two symbols a merge that it left out once: with p = 0.1 that cuts words into many
    more pieces than the paper's.

    Args:
        pieces: what may be merged, by its surface.
        spell: the ids of a character that is no piece.
        dropout: p.
    """

    def __init__(
        self, pieces: Mapping[str, Piece], spell: Callable[[str], list[int]], dropout: float
    ) -> None:
        self._pieces = pieces
        self._spell = spell
        self._dropout = dropout
        self._usual = lru_cache(KNOWN_WORDS)(lambda word: self._merged(word, lambda: False))

    def __call__(self, word: str, random: Random) -> list[int]:
        """Draw a cut of the word, as ids."""
        # Which is the best of those not left out depends on no others than those before it. So
        # merges are offered one by one, the best first, and the first that is left out is number
        # k with probability p (1 − p)^k: one random number, and many words are cut as usual.
        ids, num_merges = self._usual(word)
        num_kept = _geometric(self._dropout, random)
        if num_kept >= num_merges:
            return ids
        offered = 0

        def is_left_out() -> bool:
            nonlocal offered
            offered += 1
            if offered <= num_kept:
                return False
            return offered == num_kept + 1 or random.random() < self._dropout

        return self._merged(word, is_left_out)[0]

    def _merged(self, word: str, is_left_out: Callable[[], bool]) -> tuple[list[int], int]:
        """The ids after all merges that are not left out, and how many merges were offered."""
        symbols: list[str] = list(word)  # "" where a symbol has become part of one before it
        before, after = [*range(-1, len(word) - 1)], [*range(1, len(word) + 1)]
        agenda = [pair for i in range(len(word) - 1) for pair in self._pair(symbols, i, i + 1)]
        heapify(agenda)
        num_offered = 0
        left_out = []  # until the next merge
        while agenda:
            pair = heappop(agenda)
            _, left, right, surface = pair
            is_stale = not symbols[left] or not symbols[right]
            if is_stale or symbols[left] + symbols[right] != surface:
                continue  # one of the two has merged with another
            num_offered += 1
            if is_left_out():
                left_out.append(pair)
                continue
            symbols[left], symbols[right] = surface, ""
            after[left] = following = after[right]
            if following < len(word):
                before[following] = left
                for pair in self._pair(symbols, left, following):
                    heappush(agenda, pair)
            if before[left] >= 0:
                for pair in self._pair(symbols, before[left], left):
                    heappush(agenda, pair)
            while left_out:
                heappush(agenda, left_out.pop())
        ids: list[int] = []
        for symbol in filter(None, symbols):
            piece = self._pieces.get(symbol)
            ids += [piece.id] if piece else self._spell(symbol)
        return ids, num_offered

    def _pair(
        self, symbols: list[str], left: int, right: int
    ) -> Iterator[tuple[float, int, int, str]]:
        """What the agenda holds of two neighbours, if they may merge: the best score first."""
        surface = symbols[left] + symbols[right]
        piece = self._pieces.get(surface)
        if piece is not None:
            yield -piece.score, left, right, surface


class UnigramSampling:
    """A cut x of a word, drawn with probability P(x)^α / Σ P(x')^α.

        P(x) = ∏ p(xᵢ)

    Kudo 2018, section 3.3. Sums from the front, then a draw from the back, piece by piece: all
    cuts of the word take part, not the best few.

    Args:
        pieces: what a word may consist of, by its surface.
        spell: the ids of a character that is no piece.
        alpha: 0 draws all cuts alike, large ones the best alone.
    """

    def __init__(
        self, pieces: Mapping[str, Piece], spell: Callable[[str], list[int]], alpha: float
    ) -> None:
        self._pieces = pieces
        self._spell = spell
        self._alpha = alpha
        self._longest = max(map(len, pieces), default=1)
        self._unknown = min((p.score for p in pieces.values()), default=0.0) - UNKNOWN_PENALTY
        self._known = lru_cache(KNOWN_WORDS)(self._lattice)

    def __call__(self, word: str, random: Random) -> list[int]:
        """Draw a cut of the word, as ids."""
        lattice = self._known(word)
        end, cut = len(word), []
        while end:
            shares, arrivals = lattice[end - 1]
            # Rounding may leave the last share a little below 1.
            chosen = min(bisect(shares, random.random()), len(arrivals) - 1)
            end, ids = arrivals[chosen]
            cut.append(ids)
        return [id for ids in reversed(cut) for id in ids]

    def _lattice(self, word: str) -> list[tuple[list[float], list[tuple[int, list[int]]]]]:
        """For each end the pieces that arrive there: cumulative shares, and (start, ids)."""
        sums = [0.0]  # log Σ P(x)^α over the cuts of each beginning of the word
        lattice = []
        for end in range(1, len(word) + 1):
            weights, arrivals = [], []
            for start in range(max(0, end - self._longest), end):
                piece = self._pieces.get(word[start:end])
                if piece is not None:
                    weights.append(sums[start] + self._alpha * piece.score)
                    arrivals.append((start, [piece.id]))
                elif start == end - 1:
                    weights.append(sums[start] + self._alpha * self._unknown)
                    arrivals.append((start, self._spell(word[start])))
            most = max(weights)
            total = most + math.log(sum(math.exp(weight - most) for weight in weights))
            sums.append(total)
            shares = list(accumulate(math.exp(weight - total) for weight in weights))
            lattice.append((shares, arrivals))
        return lattice


def _geometric(probability: float, random: Random) -> int:
    """How often something of this probability does not happen before it does."""
    if probability >= 1.0:
        return 0
    return math.floor(math.log(1.0 - random.random()) / math.log1p(-probability))
