"""Word alignments beside a corpus: read with its pairs, and laid over their pieces."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Integer

from regard.align.pharaoh import read_links
from regard.data.corpus import Example, Tally, read_lines, read_numbered
from regard.errors import DataError
from regard.text.encoded import Encoded
from regard.text.spans import piece_words, word_spans


def read_aligned(
    spec: Sequence[str | Path], alignment: str | Path, tally: Tally | None = None
) -> Iterator[Example]:
    """The pairs of a corpus as `read_pairs` gives them, each with its links.

    Args:
        spec: the corpus.
        alignment: as many lines as it has, each with links `i-j` in the Pharaoh format, as
            `regard align` writes them.
        tally: is filled while the pairs are read.

    Raises:
        DataError: there are more or fewer lines, or links to words that a pair does not have.
    """
    tally = Tally() if tally is None else tally
    lines = read_lines(alignment)
    num_read = 0
    for number, example in read_numbered(spec, tally):
        line = next(islice(lines, number - num_read - 1, None), None)
        if line is None:
            raise DataError(f"{alignment} ends before line {number:,} of its corpus; make it anew")
        num_read = number
        yield _linked(example, line, f"{alignment}: line {number:,}")
    num_lines = num_read + sum(1 for _ in lines)
    if num_lines != tally.lines:
        raise DataError(
            f"{alignment} has {num_lines:,} lines, its corpus {tally.lines:,}; make it anew"
        )


def _linked(example: Example, line: str, where: str) -> Example:
    links = read_links(line, where=where)
    num_source, num_target = len(word_spans(example.source)), len(word_spans(example.target))
    if any(i >= num_source or j >= num_target for i, j in links):
        raise DataError(
            f"{where} links words beyond the {num_source:,} of the source or the {num_target:,} of "
            "the target; make it with `regard align`, without --tokenised and --transpose"
        )
    return replace(example, links=links)


def piece_alignment(
    links: Integer[np.ndarray, "links 2"], source: Encoded, target: Encoded
) -> Float32[np.ndarray, "T S"]:
    """Where each target piece comes from, as a distribution over the source pieces.

        G_ts = 1 / n_t  if the words of pieces s and t are linked, else 0

    n_t is the number of source pieces so linked. A row without any is 0.
    """
    source_words = np.array(piece_words(source), int)
    target_words = np.array(piece_words(target), int)
    num_source = 1 + max(source_words.max(initial=0), links[:, 0].max(initial=0))
    num_target = 1 + max(target_words.max(initial=0), links[:, 1].max(initial=0))
    linked = np.zeros((num_target, num_source), np.float32)
    linked[links[:, 1], links[:, 0]] = 1
    between = linked[np.ix_(target_words, source_words)]
    alignment: Float32[np.ndarray, "T S"] = between / np.maximum(between.sum(1, keepdims=True), 1)
    return alignment
