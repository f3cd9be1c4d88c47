"""Files that somebody else wrote: within a bound, and with one meaning only."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.bounded import (
    PICKLES,
    check_own,
    is_inside,
    named,
    parse_json,
    read_bounded,
    shown,
)
from regard.errors import ModelFileError

letters = st.characters(exclude_categories=["Cs"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(letters),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(letters), inner),
)


@given(values.filter(lambda value: "Infinity" not in json.dumps(value)), st.booleans())
def test_json_comes_back(value: Any, is_ascii: bool) -> None:
    assert parse_json(json.dumps(value, ensure_ascii=is_ascii).encode()) == value


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "Expecting value: line 1 column 1"),
        (b'{"a": 1,\n}', "Illegal trailing comma|Expecting property name"),
        (b"\xff", "byte 1 is not UTF-8"),
        (b"NaN", "NaN is not JSON"),
        (b"[-Infinity]", "-Infinity is not JSON"),
        (b'[{"a": 1, "b": 2, "a": 1}]', "'a' stands twice in one object"),
        (b'["\\ud800"]', "lone surrogate"),
        (b'{"\\uDFFF": 1}', "lone surrogate"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"1" * 5000, "limit"),
    ],
)
def test_anything_else_is_refused_with_a_reason(content: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        parse_json(content)
    assert "\n" not in str(caught.value)


def test_a_pair_of_surrogates_is_a_character() -> None:
    assert parse_json(b'"\\ud83e\\udd37"') == "🤷"


def test_a_file_of_the_largest_size_is_read_and_one_byte_more_is_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_bounded(path, 5) == b"12345"
    with pytest.raises(ModelFileError, match="file: 5 bytes; such a file has 4 at most"):
        read_bounded(path, 4)


def test_a_sparse_file_of_a_terabyte_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(ModelFileError, match="1,099,511,627,776 bytes"):
        read_bounded(path, 10**6)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="pipe: not a regular file"):
        read_bounded(tmp_path / "pipe", 10)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("absent", "not found"),
        ("", "not a regular file"),
        ("a\0b", "embedded null"),
        ("x" * 300, "File name too long"),
        ("ring", "Too many levels of symbolic links"),
    ],
)
def test_what_is_no_file_is_one_line(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "ring").symlink_to(tmp_path / "ring")
    with pytest.raises(ModelFileError, match=reason):
        read_bounded(tmp_path / name, 10)


@given(st.text())
def test_a_name_in_a_message_is_one_line_that_can_be_printed(name: str) -> None:
    for found in (named(name), shown(name)):
        found.encode()
        assert found.isprintable()
        assert len(found) <= 81


@pytest.mark.parametrize("name", ["run.toml", "tokeniser/joint.json", "Datei mit Umlaut ä"])
def test_an_ordinary_name_stays_as_it_is(name: str) -> None:
    assert named(name) == name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("file", True),
        ("inner/../file", True),
        ("inner/to-file", True),
        ("..", False),
        ("../folder-and-more/file", False),
        ("inner/../../outside", False),
        ("/etc/hostname", False),
        ("to-outside", False),
        ("ring", False),
        ("a\0b", False),
        ("%2e%2e/outside", True),  # nothing decodes it: a name like any other
    ],
)
def test_a_path_is_inside_or_not(tmp_path: Path, name: str, expected: bool) -> None:
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "file").touch()
    (tmp_path / "outside").touch()
    (folder / "inner" / "to-file").symlink_to(folder / "file")
    (folder / "to-outside").symlink_to(tmp_path / "outside")
    (folder / "ring").symlink_to(folder / "ring")
    assert is_inside(folder / name, folder) is expected


@pytest.mark.parametrize("name", sorted(PICKLES))
def test_a_pickle_in_a_folder_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / (f"weights{name}" if name.startswith(".") else name)
    path.touch()
    with pytest.raises(ModelFileError, match=f"{path.name}: a pickle, which may run any program"):
        check_own(tmp_path, tmp_path)
