"""Hold sentences out of a corpus for validation."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from regard.data.corpus import Example, read_pairs
from regard.errors import DataError


def count_pairs(spec: Sequence[str | Path]) -> int:
    """How many pairs a corpus has."""
    return sum(1 for _ in read_pairs(spec))


def split_off(
    examples: Iterable[Example], num_pairs: int, size: int, *, is_held_out: bool
) -> Iterator[Example]:
    """About `size` of the pairs, or all the others.

    A pair is held out by a hash of its source sentence: the choice needs no memory, is the
    same every time, and never puts one source sentence on both sides.

    Raises:
        DataError: the corpus is too small to hold that many out.
    """
    if 5 * size > num_pairs:
        raise DataError(
            f"{num_pairs:,} pairs are too few to hold {size:,} out for validation; "
            "give data.valid, or a smaller data.valid_size"
        )
    threshold = size * 2**64 // num_pairs
    for example in examples:
        digest = hashlib.blake2b(example.source.encode(), digest_size=8).digest()
        if (int.from_bytes(digest, "big") < threshold) == is_held_out:
            yield example
