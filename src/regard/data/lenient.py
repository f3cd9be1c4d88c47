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
from regard.text.normal import well_formed, without_controls

REPLACEMENT = "\ufffd"


@dataclass(slots=True)
class Mended:
    """What had to be done to lines to make them readable.

    Attributes:
        replaced: replacement characters that stand for bytes that are not UTF-8.
        controls: control characters that became a space or were left out.
        cut: lines that were too long and lost their end.
    """

    replaced: int = 0
    controls: int = 0
    cut: int = 0

    def summary(self) -> str:
        """One phrase for a person; empty where nothing was done."""
        parts = []
        if self.replaced:
            parts.append(f"{self.replaced:,} characters that are not UTF-8 read as {REPLACEMENT}")
        if self.controls:
            parts.append(f"{self.controls:,} control characters read as a space or left out")
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


def mended_text(text: str, mended: Mended) -> str:
    """A text that is in memory, as `lenient_lines` would read it; its line feeds stay.

    A lone surrogate, by which Python marks a byte that is not UTF-8, becomes U+FFFD.
    """
    whole = well_formed(text)
    mended.replaced += whole.count(REPLACEMENT) - text.count(REPLACEMENT)
    lines = [without_controls(line) for line in whole.split("\n")]
    mended.controls += sum(num_controls for _, num_controls in lines)
    return "\n".join(line for line, _ in lines)


def lenient_lines(stream: ByteStream, mended: Mended) -> Iterator[str]:
    """One text for each line, where only a line feed ends one.

    As in a corpus, control characters become a space or are left out, and a byte-order mark is
    no text. Bytes that are not UTF-8 become U+FFFD, and of a line that is longer than a corpus
    may have, the end is dropped. All but the mark is counted in `mended`.
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
        text, num_controls = without_controls(line.rstrip("\r\n"))
        mended.controls += num_controls
        yield text
