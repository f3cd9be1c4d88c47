"""Text files that are compared line by line."""

import gzip
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.errors import DataError


@dataclass(frozen=True, slots=True)
class Text:
    """Lines, and the name of the file they are from."""

    name: str
    lines: Sequence[str]


def read_text(path: Path) -> Text:
    """Read every line of a UTF-8 file, empty ones included; `-` is standard input.

    Only a newline ends a line (not U+2028 or a form feed, which translations may contain). A
    carriage return before it and a byte-order mark at the start are dropped; gzip is unpacked.
    Nothing else is mended, as reading a corpus would: scored is what the system wrote.

    Raises:
        DataError: the file cannot be read or is not UTF-8.
    """
    name = "standard input" if str(path) == "-" else str(path)
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        if data.startswith(b"\x1f\x8b"):  # gzip, and no UTF-8
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{name} cannot be read: {reason}") from error
    try:
        text = data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, byte = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        raise DataError(
            f"{name}: line {line:,}, byte {byte:,} is not UTF-8; convert the file, e.g. with iconv"
        ) from error
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return Text(name, [line.removesuffix("\r") for line in lines])
