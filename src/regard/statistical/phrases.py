"""The phrase table: how groups of words are translated, with four scores each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
from jaxtyping import Float64, Int64

from regard.align.links import Link, Links
from regard.arrays import ArrayFile, packed
from regard.errors import DataError
from regard.statistical.extraction import (
    LONGEST_PHRASE,
    Occurrences,
    extract,
    links_fit,
    unpack_links,
)
from regard.statistical.lexical import lexical_weights
from regard.statistical.ngrams import Level, Trie, number_ngrams

MAX_LENGTH = 5
LIMIT = 20
"""Translations kept of each source phrase."""

FILE = ArrayFile(
    what="phrase table",
    maker="regard baseline train",
    version=1,
    kinds={
        "source_words": (np.uint8, 1),
        "target_words": (np.uint8, 1),
        "sources": (np.int64, 1),
        "targets": (np.int64, 1),
        "starts": (np.int64, 1),
        "phrases": (np.int64, 1),
        "scores": (np.float64, 2),
        "inner": (np.int64, 1),
    },
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """One translation of a source phrase.

    Attributes:
        tokens: what is written.
        scores: see `PhraseTable`.
        links: between its words, both counted from 0.
    """

    tokens: tuple[str, ...]
    scores: tuple[float, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True)
class PhraseTable:
    """Phrase pairs (f̄, ē) with log φ(ē | f̄), log φ(f̄ | ē), log p_w(ē | f̄, a), log p_w(f̄ | ē, a).

        φ(f̄ | ē) = count(f̄, ē) / Σ_f̄' count(f̄', ē)

    Koehn, Och & Marcu 2003, section 3; p_w, the lexical weights, are in `lexical`. Where a
    pair was seen with several alignments, a is the one with the highest weights (their
    section 4.4).

    Attributes:
        source_words: the words of source phrases.
        target_words: the tokens of target phrases.
        sources: the source phrases, and others.
        targets: the target phrases, and others.
        starts: the pairs of source node n are those from starts[n] to before starts[n + 1].
        phrases: for each pair the node of its target phrase.
        scores: for each pair the four logarithms.
        inner: for each pair its links, packed.
    """

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    sources: Trie
    targets: Trie
    starts: Int64[np.ndarray, " nodes1"]
    phrases: Int64[np.ndarray, " P"]
    scores: Float64[np.ndarray, "P 4"]
    inner: Int64[np.ndarray, " P"]

    @cached_property
    def _source_index(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.source_words)}

    def __len__(self) -> int:
        """How many pairs there are."""
        return len(self.phrases)

    def matches(self, words: Sequence[str]) -> Iterator[tuple[int, int, list[Phrase]]]:
        """Begin, end and translations of every group of words that has any."""
        ids = np.array([self._source_index.get(word, -1) for word in words], np.int64)
        nodes = np.zeros(len(ids), np.int64)
        for length in range(1, len(ids) + 1):
            nodes = self.sources.children(nodes[: len(ids) - length + 1], ids[length - 1 :])
            if (nodes < 0).all():
                return
            for begin, node in enumerate(nodes.tolist()):
                if node >= 0 and self.starts[node] < self.starts[node + 1]:
                    rows = range(self.starts[node], self.starts[node + 1])
                    yield begin, begin + length, [self._phrase(row) for row in rows]

    def _phrase(self, row: int) -> Phrase:
        tokens = [self.target_words[word] for word in self.targets.words(int(self.phrases[row]))]
        links = unpack_links(int(self.inner[row]))
        return Phrase(tuple(tokens), tuple(self.scores[row].tolist()), links)

    def save(self, path: Path) -> None:
        """Write the table to a file: a zip of plain arrays, no pickle.

        Raises:
            ModelFileError: it cannot be written.
        """
        arrays = {
            "source_words": packed(self.source_words),
            "target_words": packed(self.target_words),
            "sources": self.sources.keys,
            "targets": self.targets.keys,
            "starts": self.starts,
            "phrases": self.phrases,
            "scores": self.scores,
            "inner": self.inner,
        }
        FILE.write(path, arrays)

    @classmethod
    def load(cls, path: Path) -> "PhraseTable":
        """Read what `save` wrote.

        Raises:
            ModelFileError: it is missing, damaged or not a phrase table.
        """
        arrays = FILE.read(path)
        source_words = FILE.words(arrays["source_words"], path)
        target_words = FILE.words(arrays["target_words"], path)
        sources = Trie(arrays["sources"], len(source_words))
        targets = Trie(arrays["targets"], len(target_words))
        pairs = arrays["starts"], arrays["phrases"], arrays["scores"], arrays["inner"]
        fault = _fault(sources, targets, *pairs)
        if fault:
            raise FILE.refusal(path, fault)
        return cls(source_words, target_words, sources, targets, *pairs)


def train_phrases(
    sources: Sequence[Sequence[str]],
    targets: Sequence[Sequence[str]],
    alignments: Sequence[Links],
    *,
    max_length: int = MAX_LENGTH,
    limit: int = LIMIT,
    progress: Callable[[int], None] = lambda num_done: None,
) -> PhraseTable:
    """Count the phrase pairs of an aligned corpus.

    Args:
        sources: the words of each source sentence.
        targets: the tokens of their translations.
        alignments: the links between them.
        max_length: words of a phrase at most.
        limit: of the translations of a source phrase the most frequent are kept.
        progress: told how many sentence pairs are done.

    Raises:
        DataError: no pair of phrases is consistent with the alignments.
    """
    source_words, source_ids = _numbered(sources)
    target_words, target_ids = _numbered(targets)
    found = extract(
        alignments, list(map(len, sources)), list(map(len, targets)), max_length, progress
    )
    if not len(found.source):
        raise DataError("no phrases were found: the sentence pairs have no words in common use")
    source_trie, source_levels = number_ngrams(source_ids, len(source_words), max_length)
    target_trie, target_levels = number_ngrams(target_ids, len(target_words), max_length)
    f = _nodes_at(source_levels, found.source, found.source_length)
    e = _nodes_at(target_levels, found.target, found.target_length)
    lexical = np.stack(_lexical(source_ids, target_ids, alignments, found), 1)  # N 2

    # Occurrences of a pair side by side, the one with the highest lexical weights first.
    order = np.lexsort((-lexical.sum(1), e, f))
    f, e = f[order], e[order]
    is_first = np.flatnonzero((np.diff(f, prepend=-1) != 0) | (np.diff(e, prepend=-1) != 0))
    counts = np.diff(is_first, append=len(order))
    f, e, chosen = f[is_first], e[is_first], order[is_first]
    scores = np.stack(
        [
            np.log(counts / np.bincount(f, counts)[f]),
            np.log(counts / np.bincount(e, counts)[e]),
            lexical[chosen, 0],
            lexical[chosen, 1],
        ],
        axis=1,
    )
    kept = _best(f, counts, lexical[chosen].sum(1), limit)
    starts = np.searchsorted(f[kept], np.arange(len(source_trie) + 1))
    inner = found.inner[chosen[kept]]
    return PhraseTable(
        source_words, target_words, source_trie, target_trie, starts, e[kept], scores[kept], inner
    )


def _numbered(sentences: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], list[list[int]]]:
    """The words of a corpus in order of appearance, and the sentences as their numbers."""
    index: dict[str, int] = {}
    for word in chain.from_iterable(sentences):
        index.setdefault(word, len(index))
    return tuple(index), [[index[word] for word in words] for words in sentences]


def _nodes_at(
    levels: Sequence[Level], places: Int64[np.ndarray, " N"], lengths: Int64[np.ndarray, " N"]
) -> Int64[np.ndarray, " N"]:
    """The node of the phrase of each place and length."""
    nodes = np.zeros(len(places), np.int64)
    for length, level in enumerate(levels, start=1):
        of_this = lengths == length
        nodes[of_this] = level.places[places[of_this]]
    return nodes


def _lexical(
    source_ids: Sequence[Sequence[int]],
    target_ids: Sequence[Sequence[int]],
    alignments: Sequence[Links],
    found: Occurrences,
) -> tuple[Float64[np.ndarray, " N"], Float64[np.ndarray, " N"]]:
    """The logarithms of p_w(ē | f̄, a) and p_w(f̄ | ē, a) of every occurrence."""
    source = np.fromiter(chain.from_iterable(source_ids), np.int64)
    target = np.fromiter(chain.from_iterable(target_ids), np.int64)
    i, j = _places(source_ids, target_ids, alignments)
    forward = lexical_weights(source, target, i, j)
    reverse = lexical_weights(target, source, j, i)
    # All links of a phrase's words stay inside: its weight is a product over its words.
    return (
        _sum_over(np.log(forward), found.target, found.target_length),
        _sum_over(np.log(reverse), found.source, found.source_length),
    )


def _sum_over(
    values: Float64[np.ndarray, " tokens"],
    begins: Int64[np.ndarray, " N"],
    lengths: Int64[np.ndarray, " N"],
) -> Float64[np.ndarray, " N"]:
    sums = np.concatenate([[0.0], np.cumsum(values)])
    found: Float64[np.ndarray, " N"] = sums[begins + lengths] - sums[begins]
    return found


def _places(
    source_ids: Sequence[Sequence[int]],
    target_ids: Sequence[Sequence[int]],
    alignments: Sequence[Links],
) -> tuple[Int64[np.ndarray, " links"], Int64[np.ndarray, " links"]]:
    """Both ends of every link, counted through the corpus."""
    ends: list[Link] = []
    source = target = 0
    for f, e, links in zip(source_ids, target_ids, alignments, strict=True):
        ends.extend((source + i, target + j) for i, j in links)
        source += len(f)
        target += len(e)
    pairs = np.array(ends, np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _best(
    f: Int64[np.ndarray, " P"],
    counts: Int64[np.ndarray, " P"],
    lexical: Float64[np.ndarray, " P"],
    limit: int,
) -> Int64[np.ndarray, " kept"]:
    """The rows of the most frequent translations of each source phrase, best first."""
    order = np.lexsort((-lexical, -counts, f))
    begins = np.flatnonzero(np.diff(f[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    return order[rank < limit]


def _fault(
    sources: Trie,
    targets: Trie,
    starts: Int64[np.ndarray, " s"],
    phrases: Int64[np.ndarray, " p"],
    scores: Float64[np.ndarray, "r c"],
    inner: Int64[np.ndarray, " l"],
) -> str:
    """What is wrong with a table that was read from a file; empty where nothing is."""
    if sources.fault() or targets.fault():
        return sources.fault() or targets.fault()
    size = len(phrases)
    if scores.shape != (size, 4) or len(inner) != size:
        return f"{size:,} phrase pairs have another number of scores or links"
    if len(starts) != len(sources) + 1 or starts[0] != 0 or starts[-1] != size:
        return "the phrase pairs do not belong to the source phrases"
    if (np.diff(starts) < 0).any():
        return "the phrase pairs are out of order"
    if size and not (phrases.min() > 0 and phrases.max() < len(targets)):
        return "a phrase pair has no target phrase"
    # Written so that NaN is refused too.
    if not (scores <= 1e-9).all():
        return "a probability is more than 1"
    if not (inner > 0).all():
        return "a phrase pair has no links"
    source_lengths = np.repeat(sources.lengths(LONGEST_PHRASE), np.diff(starts))
    target_lengths = targets.lengths(LONGEST_PHRASE)[phrases]
    if max(source_lengths.max(initial=0), target_lengths.max(initial=0)) > LONGEST_PHRASE:
        return f"a phrase has more than {LONGEST_PHRASE} words"
    if not links_fit(inner, source_lengths, target_lengths).all():
        return "a phrase pair links words that it does not have"
    return ""
