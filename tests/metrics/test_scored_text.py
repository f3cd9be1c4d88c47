"""Reading the texts that are scored: a line is what ends in a newline."""

import gzip
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.metrics.text import read_text

LINES = st.lists(st.text(st.characters(exclude_characters="\r\n", codec="utf-8")), min_size=1)


@given(lines=LINES)
def test_only_a_newline_ends_a_line(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    path = tmp_path_factory.mktemp("text") / "lines"
    path.write_bytes(b"\xef\xbb\xbf" + "".join(f"{line}\n" for line in lines).encode())
    assert read_text(path).lines == lines


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\nb", ["a", "b"]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        ("a\u2028b\x0cc\n".encode(), ["a\u2028b\x0cc"]),
        (b"\xef\xbb\xbfa\n", ["a"]),
    ],
)
def test_lines_are_read_by_the_rules(tmp_path: Path, data: bytes, lines: list[str]) -> None:
    path = tmp_path / "lines"
    path.write_bytes(data)
    assert read_text(path).lines == lines


def test_compressed_files_are_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "lines.gz"
    path.write_bytes(gzip.compress("é\nb\n".encode()))
    assert read_text(path).lines == ["é", "b"]


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO("é\nb\n".encode())))
    text = read_text(Path("-"))
    assert (text.name, text.lines) == ("standard input", ["é", "b"])


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("absent", None, "absent cannot be read: No such file"),
        ("latin", b"a\nb\xe9\n", "latin: line 2, byte 2 is not UTF-8; convert the file"),
        ("first", b"\xff", "first: line 1, byte 1 is not UTF-8"),
        ("damaged.gz", b"\x1f\x8bx", "damaged.gz cannot be read: "),
        (
            "short.gz",
            gzip.compress(b"a" * 99, mtime=0)[:-9],
            "short.gz cannot be read: Compressed file",
        ),
    ],
)
def test_what_cannot_be_read_is_an_error(
    tmp_path: Path, name: str, data: bytes | None, message: str
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=message):
        read_text(tmp_path / name)
