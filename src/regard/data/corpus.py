"""Parallel text on disk: two files side by side, one TSV or one JSONL, gzipped or not.

What reading does to a line, always the same and always counted:

- Only a newline ends a line; a carriage return before it goes, and so does a byte-order mark.
- White space among the control characters (tab, vertical tab, U+0085 …) and the separators U+2028
  and U+2029 become a plain space; every other control character, NUL included, is removed.
- White space around the text goes. A pair with an empty side is left out.
- A pair with a line of more than a megabyte is left out; such a line is never held in memory.
- What is not UTF-8 is an error that names the file, the line and the byte; so is a lone surrogate,
  which only JSON can spell.
"""

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO, Literal

from regard.errors import DataError
from regard.text.normal import BREAKING, is_well_formed, without_controls

LONGEST_LINE = 1_000_000
"""Bytes after which a line is left out."""

_GZIP_MAGIC = b"\x1f\x8b"
_BOM = "\ufeff".encode()

Layout = Literal["parallel", "tsv", "jsonl"]


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence and its translation.

    Attributes:
        source: the sentence.
        target: its translation.
        links: which words of the two belong together, where that is known (`align.links`).
    """

    source: str
    target: str
    links: frozenset[tuple[int, int]] | None = None


@dataclass(frozen=True, slots=True)
class Splits:
    """A corpus cut in three."""

    train: list[Example]
    valid: list[Example]
    test: list[Example]


@dataclass(slots=True)
class Tally:
    """What a reading has seen, left out and mended so far."""

    lines: int = 0
    empty: int = 0
    too_long: int = 0
    control_characters: int = 0
    first_too_long: list[str] = field(default_factory=list)
    """Where the first few over-long lines are, as "file, line 7"."""


# --------------------------------------------------------------------------------------------------
# Reading
# --------------------------------------------------------------------------------------------------


def read_pairs(spec: Sequence[str | Path], tally: Tally | None = None) -> Iterator[Example]:
    """The pairs of a corpus, in order, in bounded memory.

    Args:
        spec: two parallel files, or one .tsv (source, tab, target), or one .jsonl with "source"
            and "target"; each gzipped or not.
        tally: is filled while the pairs are read.

    Raises:
        DataError: a file is missing, is not UTF-8, or does not have the layout it should have.
    """
    return (example for _, example in read_numbered(spec, tally))


def read_numbered(
    spec: Sequence[str | Path], tally: Tally | None = None
) -> Iterator[tuple[int, Example]]:
    """As `read_pairs`, each pair with the number of its line, counted from 1."""
    paths = [Path(path) for path in spec]
    layout = layout_of(paths)
    for path in paths:
        if not path.exists():
            raise DataError(f"{path} does not exist")
        if path.is_dir():
            raise DataError(f"{path} is a folder; a file is expected")
    tally = Tally() if tally is None else tally
    rows = {"parallel": _parallel_rows, "tsv": _tsv_rows, "jsonl": _jsonl_rows}[layout]
    return _pairs(rows(paths, tally), tally)


def read_lines(path: str | Path, tally: Tally | None = None) -> Iterator[str]:
    """The lines of one file, none left out: an over-long one becomes empty.

    So that the n-th line of what is made of them belongs to the n-th line of the file.
    """
    path = Path(path)
    if not path.exists():
        raise DataError(f"{path} does not exist")
    tally = Tally() if tally is None else tally
    return _tidy_lines(path, tally)


def _tidy_lines(path: Path, tally: Tally) -> Iterator[str]:
    for line in _lines(path, tally):
        tally.lines += 1
        text = "" if line is None else _tidy(line, tally)
        tally.empty += line is not None and not text
        yield text


def layout_of(paths: Sequence[str | Path]) -> Layout:
    """How the files hold their pairs, by their number and names.

    Raises:
        DataError: they are neither two files nor one .tsv or .jsonl.
    """
    names = [str(path) for path in paths]
    if len(names) == 2:
        return "parallel"
    if len(names) == 1 and names[0].removesuffix(".gz").endswith(".tsv"):
        return "tsv"
    if len(names) == 1 and names[0].removesuffix(".gz").endswith(".jsonl"):
        return "jsonl"
    raise DataError(
        "a corpus is two parallel files, or one .tsv or .jsonl, each perhaps with .gz; "
        f"got {', '.join(names) or 'no file'}"
    )


Row = tuple[str, str] | None
"""The two sides of a line; None where it was too long to be read."""


def _pairs(rows: Iterator[Row], tally: Tally) -> Iterator[tuple[int, Example]]:
    for number, row in enumerate(rows, start=1):
        tally.lines = number
        if row is None:
            continue
        source, target = _tidy(row[0], tally), _tidy(row[1], tally)
        if source and target:
            yield number, Example(source, target)
        else:
            tally.empty += 1


def _parallel_rows(paths: Sequence[Path], tally: Tally) -> Iterator[Row]:
    left_path, right_path = paths
    counts = [0, 0]
    one_sided = ""  # the first line that is empty on one side only: where files slip, it shows
    missing = object()
    lines = zip_longest(_lines(left_path, tally), _lines(right_path, tally), fillvalue=missing)
    for number, sides in enumerate(lines, start=1):
        for index, side in enumerate(sides):
            counts[index] += side is not missing
        is_empty = [isinstance(side, str) and not side.strip() for side in sides]
        if not one_sided and is_empty[0] != is_empty[1]:
            one_sided = f"{number:,} ({paths[is_empty[1]].name})"
        left, right = sides
        if left is None or right is None:
            yield None
        elif isinstance(left, str) and isinstance(right, str):
            yield left, right
    if counts[0] != counts[1]:
        hint = f"; the first empty line on one side only is {one_sided}" if one_sided else ""
        raise DataError(
            f"{left_path} has {counts[0]:,} lines, {right_path} has {counts[1]:,}{hint}"
        )


def _tsv_rows(paths: Sequence[Path], tally: Tally) -> Iterator[Row]:
    (path,) = paths
    for number, line in enumerate(_lines(path, tally), start=1):
        if line is None:
            yield None
            continue
        columns = line.split("\t") if line.strip() else ["", ""]
        if len(columns) != 2:
            raise DataError(
                f"{path}: line {number:,} has {len(columns):,} columns, expected 2 "
                "(source, tab, target)"
            )
        yield columns[0], columns[1]


def _jsonl_rows(paths: Sequence[Path], tally: Tally) -> Iterator[Row]:
    (path,) = paths
    for number, line in enumerate(_lines(path, tally), start=1):
        if line is None:
            yield None
            continue
        if not line.strip():
            yield "", ""
            continue
        where = f"{path}: line {number:,}"
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{where} is not JSON ({error.msg}, column {error.colno:,})") from error
        except RecursionError as error:
            raise DataError(f"{where} is nested too deeply") from error
        except ValueError as error:  # a number of thousands of digits
            raise DataError(f"{where} is not JSON ({error})") from error
        expected = 'expected an object with "source" and "target"'
        if not isinstance(value, dict):
            raise DataError(f"{where} holds a {_JSON_NAMES[type(value)]}; {expected}")
        for key in ("source", "target"):
            if key not in value:
                raise DataError(f'{where} has no "{key}"; {expected}')
            if not isinstance(value[key], str):
                kind = _JSON_NAMES[type(value[key])]
                raise DataError(f'{where}: "{key}" is a {kind}; a string is expected')
            if not is_well_formed(value[key]):
                raise DataError(
                    f'{where}: "{key}" spells a lone surrogate, which is no character; write the '
                    "character itself, or both halves of the pair"
                )
        yield value["source"], value["target"]


_JSON_NAMES = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    list: "list",
    dict: "object",
    type(None): "null",
}


def _lines(path: Path, tally: Tally) -> Iterator[str | None]:
    """Decoded lines without their ends; None for one that is too long."""
    with ExitStack() as stack:
        try:
            stream: BinaryIO = stack.enter_context(path.open("rb"))
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror}") from error
        if stream.peek(2)[:2] == _GZIP_MAGIC:  # type: ignore[attr-defined]  # buffered, not raw
            stream = stack.enter_context(gzip.GzipFile(fileobj=stream))  # type: ignore[assignment]
        number = 0
        while True:
            try:
                raw = stream.readline(LONGEST_LINE + 1)
                is_too_long = len(raw) > LONGEST_LINE and not raw.endswith(b"\n")
                while len(raw) > LONGEST_LINE and not raw.endswith(b"\n"):
                    raw = stream.readline(LONGEST_LINE + 1)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise DataError(
                    f"{path}: the gzip data is damaged after line {number:,} ({error})"
                ) from error
            if not raw and not is_too_long:
                return
            number += 1
            if is_too_long:
                tally.too_long += 1
                if len(tally.first_too_long) < 3:
                    tally.first_too_long.append(f"{path}, line {number:,}")
                yield None
            else:
                yield _decode(raw, path, number)


def _decode(raw: bytes, path: Path, number: int) -> str:
    line = raw.removesuffix(b"\n").removesuffix(b"\r")
    if number == 1:
        line = line.removeprefix(_BOM)
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        utf16 = number == 1 and line[:2] in (b"\xff\xfe", b"\xfe\xff")
        advice = f"convert it with: iconv -f {'UTF-16' if utf16 else 'LATIN1'} -t UTF-8"
        raise DataError(
            f"{path}: line {number:,}, byte {error.start + 1:,}: "
            f"0x{line[error.start]:02X} is not UTF-8; {advice}"
        ) from error


def _tidy(text: str, tally: Tally) -> str:
    text, num_controls = without_controls(text.strip(" "))
    tally.control_characters += num_controls
    return text.strip()


# --------------------------------------------------------------------------------------------------
# Writing
# --------------------------------------------------------------------------------------------------


def require_absent(paths: Iterable[str | Path], *, force: bool) -> None:
    """Refuse to write over what exists, unless forced to.

    Raises:
        DataError: a file exists and force is off.
    """
    for path in paths:
        if not force and Path(path).exists():
            raise DataError(f"{path} exists already; --force writes over it")


def write_pairs(
    spec: Sequence[str | Path], examples: Iterable[Example], *, force: bool = False
) -> int:
    """Write a corpus in the layout that its names ask for, and say how many pairs it has.

    The files appear whole or not at all: they are written beside their places and moved there when
    every pair has been written.

    Raises:
        DataError: a file exists and force is off, or a sentence cannot be written on one line.
    """
    paths = [Path(path) for path in spec]
    layout = layout_of(paths)
    require_absent(paths, force=force)
    count = 0
    with replacing(paths) as streams:
        for count, example in enumerate(examples, start=1):
            if layout == "jsonl":
                row = {"source": example.source, "target": example.target}
                columns = [json.dumps(row, ensure_ascii=False)]
            else:
                for text in (example.source, example.target):
                    if BREAKING.search(text):
                        raise DataError(f"pair {count:,} holds a tab or a line break: {text!r}")
                columns = [example.source, example.target]
                if layout == "tsv":
                    columns = ["\t".join(columns)]
            for stream, column in zip(streams, columns, strict=True):
                stream.write(column.encode() + b"\n")
    return count


@contextmanager
def replacing(paths: Sequence[Path]) -> Iterator[list[BinaryIO]]:
    """Streams to files that take the places of `paths` together when the block ends well.

    A name that ends in .gz is compressed, without a time stamp, so that equal text gives equal
    bytes.
    """
    partial = [path.with_name(f".{path.name}.{os.getpid()}.partial") for path in paths]
    try:
        with ExitStack() as stack:
            raw, streams = [], []
            for path, part in zip(paths, partial, strict=True):
                path.parent.mkdir(parents=True, exist_ok=True)
                raw.append(stack.enter_context(part.open("wb")))
                streams.append(
                    stack.enter_context(gzip.GzipFile("", "wb", fileobj=raw[-1], mtime=0))
                    if path.suffix == ".gz"
                    else raw[-1]
                )
            yield streams  # type: ignore[misc]  # a GzipFile is a binary stream
        for path, part in zip(paths, partial, strict=True):
            os.replace(part, path)
    finally:
        for part in partial:
            part.unlink(missing_ok=True)
