"""Lines to be translated: one text for each, whatever it holds."""

import gzip
import io
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data import lenient
from regard.data.corpus import read_lines
from regard.data.lenient import Mended, lenient_lines, mended_text, opened
from regard.errors import DataError


def read(content: bytes) -> tuple[list[str], Mended]:
    mended = Mended()
    return list(lenient_lines(io.BytesIO(content), mended)), mended


@given(st.lists(st.binary().filter(lambda line: b"\n" not in line)))
def test_there_is_a_text_for_each_line(lines: list[bytes]) -> None:
    found, _ = read(b"".join(line + b"\n" for line in lines))
    assert len(found) == len(lines)
    assert not any("\n" in text for text in found)


@given(
    st.lists(
        st.text(
            st.characters(exclude_characters="\ufeff", exclude_categories=["Cc", "Cs", "Zl", "Zp"])
        )
    )
)
def test_what_is_utf_8_comes_as_it_is(lines: list[str]) -> None:
    found, mended = read("".join(f"{line}\n" for line in lines).encode())
    assert found == lines
    assert mended == Mended()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"a", ["a"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"\n\n", ["", ""]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        ("a\u2028b\x85c\x0bd\re\n".encode(), ["a b c d e"]),
        (b"\x00\x1b\n", [""]),
    ],
)
def test_only_a_line_feed_ends_a_line(content: bytes, expected: list[str]) -> None:
    assert read(content)[0] == expected


def test_bytes_that_are_not_utf_8_are_replaced_and_counted() -> None:
    found, mended = read(b"a\xffb\nc \xef\xbf\xbd d\n\xc3\n")
    assert found == ["a\ufffdb", "c \ufffd d", "\ufffd"]
    assert mended.replaced == 2
    assert mended.summary() == "2 characters that are not UTF-8 read as \ufffd"


def test_control_characters_are_read_as_in_training_and_counted(tmp_path: Path) -> None:
    line = "un\x00deux\ttrois\u2028\x1bquatre\r"
    (tmp_path / "text").write_bytes(f"{line}\n".encode())
    found, mended = read(f"{line}\n".encode())
    assert found == list(read_lines(tmp_path / "text")) == ["undeux trois quatre"]
    assert mended.controls == 4
    assert mended.summary() == "4 control characters read as a space or left out"


@given(st.text(st.characters(exclude_characters="\r\ufeff")))
def test_a_text_in_memory_is_mended_as_the_lines_of_a_file_are(text: str) -> None:
    mended = Mended()
    found = mended_text(text, mended)
    lines, expected = read(f"{text}\n".encode("utf-8", "surrogatepass"))
    assert mended.controls == expected.controls
    if not re.search("[\ud800-\udfff]", text):  # a file holds three bytes for each
        assert (found.split("\n"), mended) == (lines, expected)


def test_each_lone_surrogate_is_one_replacement() -> None:
    mended = Mended()
    assert mended_text("caf\udce9\ufffd\ud800", mended) == "caf\ufffd\ufffd\ufffd"
    assert mended.replaced == 2


def test_a_line_too_long_loses_its_end_and_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lenient, "LONGEST_LINE", 4)
    found, mended = read(b"abcd\nabcde\nabcdefghijklmnop\nx\nabcdef")
    assert found == ["abcd", "abcd", "abcd", "x", "abcd"]
    assert mended.cut == 3
    assert mended.summary() == "3 lines cut after 4 bytes"


def test_nothing_mended_is_nothing_said() -> None:
    assert Mended().summary() == ""


def test_gzipped_or_not_is_the_same(tmp_path: Path) -> None:
    content = b"un\ndeux\n"
    for name, written in (("plain.gz", content), ("packed.txt", gzip.compress(content))):
        (tmp_path / name).write_bytes(written)
        with opened(tmp_path / name) as stream:
            assert stream.readline(3) + stream.readline(9) == content


@pytest.mark.parametrize(("cut", "message"), [(-6, "damaged gzip file"), (14, "damaged gzip file")])
def test_a_damaged_gzip_file_is_named(tmp_path: Path, cut: int, message: str) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(os.urandom(1000))[:cut] + b"!!")
    with pytest.raises(DataError, match=message), opened(path) as stream:
        list(lenient_lines(stream, Mended()))


@pytest.mark.parametrize(
    ("name", "reason"), [("absent", "No such file or directory"), ("", "Is a directory")]
)
def test_what_cannot_be_opened_is_named(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(DataError, match=f"cannot be read: {reason}"), opened(tmp_path / name):
        pass
