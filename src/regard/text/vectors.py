"""Pretrained word vectors in the text format of word2vec, GloVe and fastText."""

from pathlib import Path

import numpy as np
from jaxtyping import Float32

from regard.errors import DataError

Vector = Float32[np.ndarray, " width"]


def read_vectors(path: Path, wanted: set[str]) -> dict[str, Vector]:
    """The vectors of the wanted words; a file may hold millions of others.

    One word a line, then its numbers; a first line of two numbers, count and width, is
    allowed.

    Raises:
        DataError: the file cannot be read, or a line has no numbers or another width.
    """
    found: dict[str, Vector] = {}
    width = None
    try:
        with path.open(encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                word, *numbers = line.rstrip().split(" ")
                if number == 1 and len(numbers) == 1:
                    continue
                width = width or len(numbers)
                if len(numbers) != width or not numbers:
                    raise DataError(
                        f"{path}: line {number:,} has {len(numbers):,} numbers, expected {width:,}"
                    )
                if word in wanted:
                    found[word] = np.array(numbers, dtype=np.float32)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise DataError(f"{path}: line {number:,}: {error}") from None
    return found
