"""Lines to be translated: each is answered, whatever it holds."""

import gzip
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from regard.data.corpus import LONGEST_LINE
from regard.errors import DataError

REPLACEMENT = "\ufffd"


@dataclass(slots=True)
class Mended:
    """What had to be done to lines to make them readable.

    Attributes:
        replaced: replacement characters that stand for bytes that are not UTF-8.
        cut: lines that were too long and lost their end.
    """

    replaced: int = 0
    cut: int = 0

    def summary(self) -> str:
        """One phrase for a person; empty where nothing was done."""
        parts = []
        if self.replaced:
            parts.append(f"{self.replaced:,} characters that are not UTF-8 read as {REPLACEMENT}")
        if self.cut:
            parts.append(f"{self.cut:,} lines cut after {LONGEST_LINE:,} bytes")
        return "; ".join(parts)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A file's bytes, unpacked where they are gzipped.

    Raises:
        DataError: it cannot be opened.
    """
    with ExitStack() as stack:
        try:
            raw = stack.enter_context(path.open("rb"))
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror}") from None
        is_gzipped = raw.peek(2)[:2] == b"\x1f\x8b"
        yield stack.enter_context(gzip.open(raw)) if is_gzipped else raw  # type: ignore[misc]


def lenient_lines(stream: BinaryIO, mended: Mended) -> Iterator[str]:
    """One text for each line, where only a line feed ends one.

    Bytes that are not UTF-8 become U+FFFD, and of a line that is longer than a corpus may
    have, the end is dropped; both are counted in `mended`.
    """
    while raw := stream.readline(LONGEST_LINE + 1):
        rest = raw
        while len(rest) > LONGEST_LINE and not rest.endswith(b"\n"):
            rest = stream.readline(LONGEST_LINE + 1)
        if rest is not raw:
            mended.cut += 1
        line = raw[:LONGEST_LINE].decode("utf-8", errors="replace")
        mended.replaced += line.count(REPLACEMENT) - raw.count(REPLACEMENT.encode())
        yield line.rstrip("\r\n")
