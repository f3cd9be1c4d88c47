"""Parallel text as arrays: sentence pairs of one shape side by side, every word pair numbered."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from jaxtyping import Int32, Int64

from regard.errors import DataError

Words = Sequence[str]

NULL = ""
"""The empty word, source word 0: target words that translate nothing come from it."""

LONGEST = 250
"""Words after which a sentence is neither learned from nor aligned: the cost grows with I²·J."""

BLOCK_CELLS = 1 << 20
"""Word pairs held by one block, so that its working arrays take a few tens of megabytes."""

UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Block:
    """Sentence pairs of I source and J target words each.

    Attributes:
        numbers: which pairs of the corpus they are.
        cells: for each pair, target word and source word (NULL first) its number in `keys`.
    """

    numbers: Int64[np.ndarray, " N"]
    cells: Int32[np.ndarray, "N J I1"]


@dataclass(frozen=True, slots=True)
class Bitext:
    """Sentence pairs to learn from.

    Only word pairs that occur together in some sentence pair are numbered; a table with a
    probability for each, in the order of `keys`, is a sparse V_source × V_target matrix.
    Pairs with an empty side or with more than `LONGEST` words on one are left out.

    Attributes:
        source_words: by number, NULL first.
        target_words: by number.
        keys: ascending; the pair (s, t) has the key s · V_target + t.
        blocks: the sentence pairs, by shape.
    """

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    keys: Int64[np.ndarray, " P"]
    blocks: tuple[Block, ...]

    @classmethod
    def of(
        cls, sources: Sequence[Words], targets: Sequence[Words], *, block_cells: int = BLOCK_CELLS
    ) -> "Bitext":
        """Number the words and word pairs of a corpus.

        Args:
            sources: the words of each source sentence.
            targets: the words of their translations.
            block_cells: word pairs that are worked on at a time.

        Raises:
            DataError: no sentence pair has words on both sides.
        """
        source_index = {NULL: 0} | _numbered(sources, start=1)
        target_index = _numbered(targets, start=0)
        pieces: list[tuple[Int64[np.ndarray, " N"], np.ndarray, np.ndarray]] = []
        for numbers, source, target in shaped_blocks(
            sources, targets, source_index, target_index, block_cells
        ):
            block_keys = source[:, None, :] * len(target_index) + target[:, :, None]  # N J I1
            unique, inverse = np.unique(block_keys, return_inverse=True)
            cells = inverse.astype(np.int32).reshape(block_keys.shape)
            pieces.append((numbers, unique, cells))
        if not pieces:
            raise DataError(
                "there is nothing to learn an alignment from: no pair has words on both sides "
                f"and at most {LONGEST:,} on each"
            )
        keys = np.unique(np.concatenate([unique for _, unique, _ in pieces]))
        blocks = tuple(
            Block(numbers, np.searchsorted(keys, unique).astype(np.int32)[cells])
            for numbers, unique, cells in pieces
        )
        return cls(tuple(source_index), tuple(target_index), keys, blocks)

    @property
    def num_target_tokens(self) -> int:
        return sum(block.cells.shape[0] * block.cells.shape[1] for block in self.blocks)


def shaped_blocks(
    sources: Sequence[Words],
    targets: Sequence[Words],
    source_index: dict[str, int],
    target_index: dict[str, int],
    block_cells: int = BLOCK_CELLS,
) -> Iterator[
    tuple[
        Int64[np.ndarray, " N"],
        Int64[np.ndarray, "N I1"],
        Int64[np.ndarray, "N J"],
    ]
]:
    """Sentence pairs of equal lengths together: their numbers, source words and target words.

    The source words begin with NULL. Words that an index lacks are `UNKNOWN`.
    """
    if len(sources) != len(targets):
        raise DataError(
            f"{len(sources):,} source sentences and {len(targets):,} target sentences cannot be "
            "aligned; expected as many of each"
        )
    source_ids, source_starts, num_source = _flat(sources, source_index)
    target_ids, target_starts, num_target = _flat(targets, target_index)
    is_usable = (num_source > 0) & (num_target > 0)
    is_usable &= (num_source <= LONGEST) & (num_target <= LONGEST)
    order = np.flatnonzero(is_usable)
    order = order[np.lexsort((num_target[order], num_source[order]))]
    shapes = num_source[order] * (LONGEST + 1) + num_target[order]
    for group in np.split(order, np.flatnonzero(np.diff(shapes)) + 1):
        if not len(group):
            continue
        width, height = int(num_source[group[0]]), int(num_target[group[0]])
        size = max(1, block_cells // ((width + 1) * max(width + 1, height)))
        for first in range(0, len(group), size):
            numbers = group[first : first + size]
            source = np.zeros((len(numbers), width + 1), np.int64)
            source[:, 1:] = source_ids[source_starts[numbers, None] + np.arange(width)]
            target = target_ids[target_starts[numbers, None] + np.arange(height)]
            yield numbers, source, target


def _numbered(sentences: Sequence[Words], start: int) -> dict[str, int]:
    """A number for each word, in the order of first appearance."""
    index = dict.fromkeys(chain.from_iterable(sentences))
    return {word: number for number, word in enumerate(index, start)}


def _flat(
    sentences: Sequence[Words], index: dict[str, int]
) -> tuple[
    Int64[np.ndarray, " tokens"], Int64[np.ndarray, " sentences"], Int64[np.ndarray, " sentences"]
]:
    """All words end to end, where each sentence begins, and how many words it has."""
    lengths = np.array([len(words) for words in sentences], np.int64)
    words = chain.from_iterable(sentences)
    ids = np.fromiter((index.get(word, UNKNOWN) for word in words), np.int64, lengths.sum())
    return ids, np.cumsum(lengths) - lengths, lengths
