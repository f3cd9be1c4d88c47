"""Every n-gram of a corpus numbered: a tree of words in which a number is a place."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from jaxtyping import Bool, Int64

ROOT = 0
"""The node of the empty n-gram."""


@dataclass(frozen=True, slots=True)
class Trie:
    """A prefix tree as one ascending array: node n > 0 has the key

        key(n) = parent(n) · V + word(n)

    at index n − 1. Nodes are numbered by the length of their n-grams, then by key, so that
    a parent always comes before its children. The first V nodes are the V words.

    Attributes:
        keys: of all nodes but the root.
        num_words: V.
    """

    keys: Int64[np.ndarray, " nodes"]
    num_words: int

    def __len__(self) -> int:
        """The number of nodes, the root included."""
        return len(self.keys) + 1

    def children(
        self, nodes: Int64[np.ndarray, " N"], words: Int64[np.ndarray, " N"]
    ) -> Int64[np.ndarray, " N"]:
        """The node of each n-gram followed by a word; −1 where the tree has none.

        A node or word of −1 has no child.
        """
        wanted = np.where((nodes < 0) | (words < 0), -1, nodes * self.num_words + words)
        places = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[places] == wanted, places + 1, -1)

    def words(self, node: int) -> list[int]:
        """The n-gram of a node, read from its end to the root."""
        found: list[int] = []
        while node != ROOT:
            node, word = divmod(int(self.keys[node - 1]), self.num_words)
            found.append(word)
        return found[::-1]

    def lengths(self, limit: int) -> Int64[np.ndarray, " nodes1"]:
        """The length of every node's n-gram; those longer than the limit count as one more."""
        parents = self.keys // self.num_words
        lengths = np.zeros(len(self), np.int64)
        for _ in range(limit + 1):
            lengths[1:] = lengths[parents] + 1
        return lengths

    def fault(self) -> str:
        """What is wrong with a tree that was read from a file; empty where nothing is."""
        width = self.num_words
        if len(self.keys) < width or (self.keys[:width] != np.arange(width)).any():
            return "a word is missing among the n-grams"
        if (np.diff(self.keys) <= 0).any():
            return "the n-grams are out of order"
        if (self.keys // width > np.arange(len(self.keys))).any():
            return "an n-gram has no beginning"
        return ""


@dataclass(frozen=True, slots=True)
class Level:
    """The n-grams of one length.

    Attributes:
        first: the node of the first of them; they have consecutive numbers.
        counts: how often each occurs.
        suffixes: the node of each without its first word.
        places: for each place of the corpus the node of the n-gram that begins there; −1
            where the sentence ends before the n-gram would.
    """

    first: int
    counts: Int64[np.ndarray, " size"]
    suffixes: Int64[np.ndarray, " size"]
    places: Int64[np.ndarray, " tokens"]

    @property
    def nodes(self) -> slice:
        """The numbers of its nodes."""
        return slice(self.first, self.first + len(self.counts))


def number_ngrams(
    sentences: Sequence[Sequence[int]], num_words: int, order: int
) -> tuple[Trie, list[Level]]:
    """Number the n-grams of a corpus, n = 1 … order; none reaches over the end of a sentence.

    Args:
        sentences: word numbers below `num_words`.
        num_words: V; words that do not occur are 1-grams with a count of 0.
        order: the longest n-grams.
    """
    lengths = np.array([len(words) for words in sentences], np.int64)
    ids = np.fromiter(chain.from_iterable(sentences), np.int64, int(lengths.sum()))
    keys = np.arange(num_words)
    zeros = np.zeros(num_words, np.int64)
    levels = [Level(1, np.bincount(ids, minlength=num_words), zeros, ids + 1)]
    for level_keys, level in _longer(ids, room_of(lengths), levels[0], num_words, order):
        keys = np.concatenate([keys, level_keys])
        levels.append(level)
    return Trie(keys, num_words), levels


def room_of(lengths: Int64[np.ndarray, " sentences"]) -> Int64[np.ndarray, " tokens"]:
    """For each place of the corpus how many words its sentence has from there on."""
    ends = np.repeat(np.cumsum(lengths), lengths)
    return ends - np.arange(len(ends))


def _longer(
    ids: Int64[np.ndarray, " tokens"],
    room: Int64[np.ndarray, " tokens"],
    level: Level,
    num_words: int,
    order: int,
) -> Iterator[tuple[Int64[np.ndarray, " size"], Level]]:
    """The keys and the level of the 2-grams, 3-grams and so on."""
    for length in range(2, order + 1):
        fits: Bool[np.ndarray, " tokens"] = room >= length
        starts = np.flatnonzero(fits)
        wanted = level.places[starts] * num_words + ids[starts + length - 1]
        keys, inverse, counts = np.unique(wanted, return_inverse=True, return_counts=True)
        suffixes = np.zeros(len(keys), np.int64)
        suffixes[inverse] = level.places[starts + 1]
        first = level.nodes.stop
        places = np.full(len(ids), -1)
        places[starts] = first + inverse
        level = Level(first, counts, suffixes, places)
        yield keys, level
