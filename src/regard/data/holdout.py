"""Hold sentences out of a corpus for validation."""

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from regard.data.corpus import Example, read_pairs
from regard.errors import DataError


def count_pairs(spec: Sequence[str | Path]) -> int:
    """How many pairs a corpus has."""
    return sum(1 for _ in read_pairs(spec))


def find_threshold(examples: Iterable[Example], size: int) -> int:
    """The hash up to which a pair is held out, so that `size` different sources are.

    Raises:
        DataError: the corpus is too small to hold that many out.
    """
    num_pairs = 0
    held: set[int] = set()  # the smallest hashes so far
    heap: list[int] = []  # the same, negated: the largest is on top
    for example in examples:
        num_pairs += 1
        value = _hash(example.source)
        if value in held:
            continue
        held.add(value)
        heapq.heappush(heap, -value)
        if len(held) > size:
            held.remove(-heapq.heappop(heap))
    if 5 * size > num_pairs:
        raise DataError(
            f"{num_pairs:,} pairs are too few to hold {size:,} out for validation; "
            "give data.valid, or a smaller data.valid_size"
        )
    return -heap[0]


def split_off(
    examples: Iterable[Example], threshold: int, *, is_held_out: bool
) -> Iterator[Example]:
    """The pairs that `find_threshold` holds out, or all the others.

    A pair is held out by a hash of its source sentence: the choice needs no memory, is the
    same every time, and never puts one source sentence on both sides.
    """
    return (e for e in examples if (_hash(e.source) <= threshold) == is_held_out)


def _hash(source: str) -> int:
    return int.from_bytes(hashlib.blake2b(source.encode(), digest_size=8).digest(), "big")
