"""Phrase pairs that a word alignment allows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int64

from regard.align.links import Link, Links

LONGEST_PHRASE = 7
"""Words of a phrase at most: the links inside a pair are bits of one 64-bit number."""

ROW_BITS = 8


class Span(NamedTuple):
    """A phrase pair in its sentences: source words from `i` to before `i_end`, target likewise."""

    i: int
    i_end: int
    j: int
    j_end: int


def consistent_spans(
    links: Links, num_source: int, num_target: int, max_length: int
) -> Iterator[Span]:
    """The phrase pairs that are consistent with an alignment A.

        BP = {(f_i … f_i', e_j … e_j') : ∀ (a, b) ∈ A : i ≤ a ≤ i' ⇔ j ≤ b ≤ j',
                                         at least one (a, b) ∈ A lies inside}

    No word inside is linked to one outside. Och & Ney 2004, section 3 (the set BP);
    Koehn, Och & Marcu 2003, section 3.1. Words without a link may stand at the edges.

    Args:
        links: A.
        num_source: I.
        num_target: J.
        max_length: words of a phrase at most, on either side.
    """
    # The first and last word that each word is linked to; out of all range where to none.
    first_target, last_target = [num_target] * num_source, [-1] * num_source
    first_source, last_source = [num_source] * num_target, [-1] * num_target
    for i, j in links:
        first_target[i], last_target[i] = min(first_target[i], j), max(last_target[i], j)
        first_source[j], last_source[j] = min(first_source[j], i), max(last_source[j], i)

    for i in range(num_source):
        j, j_last = num_target, -1
        for i_last in range(i, min(i + max_length, num_source)):
            j, j_last = min(j, first_target[i_last]), max(j_last, last_target[i_last])
            if j_last < 0:
                continue
            # More source words only widen the target: what is too wide stays too wide.
            if j_last - j >= max_length or min(first_source[j : j_last + 1]) < i:
                break
            if max(last_source[j : j_last + 1]) > i_last:
                continue
            yield from _with_loose_edges(
                Span(i, i_last + 1, j, j_last + 1), last_source, max_length
            )


def _with_loose_edges(span: Span, last_source: Sequence[int], max_length: int) -> Iterator[Span]:
    """A span, and the same with target words without links on its left and right."""
    begin = span.j
    while True:
        end = span.j_end
        while end - begin <= max_length:
            yield Span(span.i, span.i_end, begin, end)
            if end == len(last_source) or last_source[end] >= 0:
                break
            end += 1
        begin -= 1
        if begin < 0 or last_source[begin] >= 0 or span.j_end - begin > max_length:
            return


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Every phrase pair of a corpus, each as often as it occurs.

    Attributes:
        source: where its source words begin, counted through the corpus.
        source_length: how many they are.
        target: where its target words begin.
        target_length: how many they are.
        inner: the links inside, see `pack_links`.
    """

    source: Int64[np.ndarray, " N"]
    source_length: Int64[np.ndarray, " N"]
    target: Int64[np.ndarray, " N"]
    target_length: Int64[np.ndarray, " N"]
    inner: Int64[np.ndarray, " N"]


def extract(
    alignments: Sequence[Links],
    num_sources: Sequence[int],
    num_targets: Sequence[int],
    max_length: int,
    progress: Callable[[int], None] = lambda num_done: None,
) -> Occurrences:
    """The phrase pairs of all sentence pairs.

    Args:
        alignments: the links of each.
        num_sources: its number of source words.
        num_targets: its number of target words.
        max_length: words of a phrase at most.
        progress: told how many sentence pairs are done.
    """
    assert max_length <= LONGEST_PHRASE
    columns: tuple[list[int], ...] = ([], [], [], [], [])
    source = target = 0
    for number, links in enumerate(alignments):
        rows = [0] * num_sources[number]
        for i, j in links:
            rows[i] |= 1 << j
        for span in consistent_spans(links, len(rows), num_targets[number], max_length):
            inner = _packed_rows(rows[span.i : span.i_end], span.j, span.j_end)
            found = source + span.i, span.i_end - span.i, target + span.j, span.j_end - span.j
            for column, value in zip(columns, (*found, inner), strict=True):
                column.append(value)
        source += num_sources[number]
        target += num_targets[number]
        progress(number + 1)
    return Occurrences(*(np.array(column, np.int64) for column in columns))


def _packed_rows(rows: Sequence[int], begin: int, end: int) -> int:
    """The links of some source words to the target words of a span as bits."""
    mask = (1 << (end - begin)) - 1
    packed = 0
    for number, row in enumerate(rows):
        packed |= (row >> begin & mask) << (number * ROW_BITS)
    return packed


def pack_links(links: Sequence[Link]) -> int:
    """Links inside a phrase pair as one number: link (i, j) is bit 8i + j."""
    return sum(1 << (i * ROW_BITS + j) for i, j in links)


def unpack_links(inner: int) -> tuple[Link, ...]:
    """What `pack_links` packed, in order."""
    bits = range(LONGEST_PHRASE * ROW_BITS)
    return tuple(divmod(bit, ROW_BITS) for bit in bits if inner >> bit & 1)


def links_fit(
    inner: Int64[np.ndarray, " N"],
    source_lengths: Int64[np.ndarray, " N"],
    target_lengths: Int64[np.ndarray, " N"],
) -> Bool[np.ndarray, " N"]:
    """Whether packed links are between words that phrases of these lengths have."""
    row = (1 << target_lengths) - 1
    allowed = np.zeros_like(inner)
    for number in range(LONGEST_PHRASE):
        allowed |= np.where(number < source_lengths, row << (number * ROW_BITS), 0)
    fits: Bool[np.ndarray, " N"] = (inner & ~allowed) == 0
    return fits
