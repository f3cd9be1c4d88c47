"""Lines to be translated: each is answered, whatever it holds."""

import codecs
import gzip
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

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


@runtime_checkable
class ByteStream(Protocol):
    """All that is asked of an open file."""

    def readline(self, limit: int, /) -> bytes:
        """Bytes up to a line feed, but no more than the limit; none at the end."""
        ...


@contextmanager
def opened(path: Path) -> Iterator[ByteStream]:
    """A file's bytes, unpacked where they are gzipped.

    Raises:
        DataError: it cannot be opened, or turns out not to be whole while it is read.
    """
    with ExitStack() as stack:
        try:
            raw = stack.enter_context(path.open("rb"))
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror}") from None
        is_gzipped = raw.peek(2)[:2] == b"\x1f\x8b"
        try:
            yield stack.enter_context(gzip.open(raw)) if is_gzipped else raw
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(f"{path} is a damaged gzip file: {error}") from None


def lenient_lines(stream: ByteStream, mended: Mended) -> Iterator[str]:
    """One text for each line, where only a line feed ends one.

    Bytes that are not UTF-8 become U+FFFD, and of a line that is longer than a corpus may
    have, the end is dropped; both are counted in `mended`. A byte-order mark is no text.
    """
    is_first = True
    while raw := stream.readline(LONGEST_LINE + 1):
        rest = raw
        while len(rest) > LONGEST_LINE and not rest.endswith(b"\n"):
            rest = stream.readline(LONGEST_LINE + 1)
        if rest is not raw:
            mended.cut += 1
        if is_first:
            raw, is_first = raw.removeprefix(codecs.BOM_UTF8), False
        line = raw[:LONGEST_LINE].decode("utf-8", errors="replace")
        mended.replaced += line.count(REPLACEMENT) - raw.count(REPLACEMENT.encode())
        yield line.rstrip("\r\n")
