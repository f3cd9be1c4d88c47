"""Reading and writing parallel text, and the faults it survives."""

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.corpus import (
    LONGEST_LINE,
    Example,
    Tally,
    read_lines,
    read_numbered,
    read_pairs,
    write_pairs,
)
from regard.errors import DataError

PAIRS = [Example("un chat", "a cat"), Example("Où ça ?", "Where?"), Example("😀 été", "😀 summer")]
LAYOUTS = (("a.fr", "a.en"), ("a.tsv",), ("a.jsonl",), ("a.fr.gz", "a.en.gz"), ("a.tsv.gz",))

texts = st.text(
    st.characters(blacklist_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=20
).filter(lambda text: bool(text.strip()) and text == text.strip())


def put(folder: Path, **files: bytes) -> list[Path]:
    """Files named by keyword, where __ stands for a dot."""
    paths = [folder / name.replace("__", ".") for name in files]
    for path, content in zip(paths, files.values(), strict=True):
        path.write_bytes(content)
    return paths


@pytest.mark.parametrize("names", LAYOUTS)
def test_what_is_written_is_read(names: tuple[str, ...], tmp_path: Path) -> None:
    spec = [tmp_path / name for name in names]
    assert write_pairs(spec, PAIRS) == len(PAIRS)
    assert list(read_pairs(spec)) == PAIRS


@given(st.lists(st.builds(Example, texts, texts), max_size=5))
def test_any_text_survives_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[Example]
) -> None:
    folder = tmp_path_factory.mktemp("round")
    for names in LAYOUTS[:3]:
        spec = [folder / name for name in names]
        write_pairs(spec, pairs, force=True)
        assert list(read_pairs(spec)) == pairs


def test_gzip_is_known_by_its_bytes_and_not_by_its_name(tmp_path: Path) -> None:
    spec = put(tmp_path, a__fr=gzip.compress(b"un\ndeux\n"), a__en__gz=b"one\ntwo\n")
    assert list(read_pairs(spec)) == [Example("un", "one"), Example("deux", "two")]


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x85", "\r"])
def test_only_a_newline_ends_a_line(mark: str, tmp_path: Path) -> None:
    spec = put(tmp_path, a__fr=f"un{mark}deux\n".encode(), a__en=b"one two\n")
    assert list(read_pairs(spec)) == [Example("un deux", "one two")]


def test_a_byte_order_mark_and_carriage_returns_change_nothing(tmp_path: Path) -> None:
    spec = put(tmp_path, a__fr="\ufeffété\r\nun\r\n".encode(), a__en=b"summer\none\n")
    assert list(read_pairs(spec)) == [Example("été", "summer"), Example("un", "one")]


def test_a_carriage_return_before_a_newline_is_no_control_character(tmp_path: Path) -> None:
    tally = Tally()
    list(read_pairs(put(tmp_path, a__tsv=b"un\tone\r\n"), tally))
    assert tally.control_characters == 0


def test_a_last_line_needs_no_newline(tmp_path: Path) -> None:
    spec = put(tmp_path, a__fr=b"un\ndeux", a__en=b"one\ntwo\n")
    assert len(list(read_pairs(spec))) == 2


def test_control_characters_are_removed_and_counted(tmp_path: Path) -> None:
    spec = put(tmp_path, a__fr=b"u\x00n\x07\n", a__en=b"o\x7fne\n")
    tally = Tally()
    assert list(read_pairs(spec, tally)) == [Example("un", "one")]
    assert tally.control_characters == 3


def test_a_pair_with_an_empty_side_is_left_out_and_counted(tmp_path: Path) -> None:
    spec = put(tmp_path, a__fr=b"un\n\n \ntrois\n", a__en=b"one\ntwo\n\nthree\n")
    tally = Tally()
    assert [line for line, _ in read_numbered(spec, tally)] == [1, 4]
    assert (tally.lines, tally.empty) == (4, 2)


def test_a_pair_with_an_over_long_line_is_left_out_and_counted(tmp_path: Path) -> None:
    long = b"x" * (3 * LONGEST_LINE)
    spec = put(tmp_path, a__fr=b"un\n" + long + b"\ntrois\n", a__en=b"one\ntwo\nthree\n")
    tally = Tally()
    assert [pair.target for pair in read_pairs(spec, tally)] == ["one", "three"]
    assert (tally.too_long, tally.first_too_long) == (1, [f"{spec[0]}, line 2"])


@pytest.mark.parametrize(("surplus", "kept"), [(0, 1), (1, 0)])
def test_the_longest_line_is_kept_and_one_byte_more_is_not(
    surplus: int, kept: int, tmp_path: Path
) -> None:
    for end in (b"\n", b""):
        line = b"x" * (LONGEST_LINE + surplus) + end
        spec = put(tmp_path, a__fr=line, a__en=b"one" + end)
        assert len(list(read_pairs(spec))) == kept


def test_an_over_long_line_is_never_held_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for _ in range(40):
            stream.write(b"x" * LONGEST_LINE)
        stream.write(b"\tx\nun\tone\n")
    tracemalloc.start()
    found = list(read_pairs([path]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == [Example("un", "one")]
    assert peak < 8 * LONGEST_LINE


def test_reading_single_lines_keeps_their_number(tmp_path: Path) -> None:
    long = b"x" * (LONGEST_LINE + 1)
    (path,) = put(tmp_path, a__txt=b"un\n\n" + long + b"\n\x00quatre\r\n")
    tally = Tally()
    assert list(read_lines(path, tally)) == ["un", "", "", "quatre"]
    assert (tally.lines, tally.empty, tally.too_long) == (4, 1, 1)


UNEQUAL = "{}/a.fr has 3 lines, {}/a.en has 2"
FAULTS = [
    ({"a__fr": b"un\ndeux\ntrois\n", "a__en": b"one\ntwo\n"}, UNEQUAL),
    (
        {"a__fr": b"un\n\ndeux\n", "a__en": b"one\ntwo\n"},
        UNEQUAL + "; the first empty line on one side only is 2 (a.fr)",
    ),
    (
        {"a__fr": b"un\ndeux\n\n", "a__en": b"one\ntwo\n"},
        UNEQUAL + "; the first empty line on one side only is 3 (a.fr)",
    ),
    (
        {"a__fr": b"un\n\xc3\xa9t\xe9\n", "a__en": b"one\ntwo\n"},
        "{}/a.fr: line 2, byte 4: 0xE9 is not UTF-8; convert it with: iconv -f LATIN1 -t UTF-8",
    ),
    (
        {"a__fr": "un\n".encode("utf-16"), "a__en": b"one\n"},
        "{}/a.fr: line 1, byte 1: 0xFF is not UTF-8; convert it with: iconv -f UTF-16 -t UTF-8",
    ),
    (
        {"a__tsv": b"un\tone\nun\tone\tCC-BY\n"},
        "{}/a.tsv: line 2 has 3 columns, expected 2 (source, tab, target)",
    ),
    ({"a__tsv": b"un\n"}, "{}/a.tsv: line 1 has 1 columns, expected 2 (source, tab, target)"),
    (
        {"a__jsonl": b"{}\n"},
        '{}/a.jsonl: line 1 has no "source"; expected an object with "source" and "target"',
    ),
    (
        {"a__jsonl": b'{"source": "a", "target": "b"}\n["a", "b"]\n'},
        '{}/a.jsonl: line 2 holds a list; expected an object with "source" and "target"',
    ),
    (
        {"a__jsonl": b'{"source": 1, "target": "b"}\n'},
        '{}/a.jsonl: line 1: "source" is a number; a string is expected',
    ),
    (
        {"a__jsonl": b'{"source": '},
        "{}/a.jsonl: line 1 is not JSON (Expecting value, column 12)",
    ),
    ({"a__jsonl": b"[" * 200_000}, "{}/a.jsonl: line 1 is nested too deeply"),
    (
        {
            "a__jsonl": b'{"source": "a", "target": "\\ud83e\\udd37"}\n'
            b'{"source": "a\\ud800b", "target": "b"}'
        },
        '{}/a.jsonl: line 2: "source" spells a lone surrogate, which is no character; write the '
        "character itself, or both halves of the pair",
    ),
    (
        {"a__txt": b"un\n"},
        "a corpus is two parallel files, or one .tsv or .jsonl, each perhaps with .gz; "
        "got {}/a.txt",
    ),
]


@pytest.mark.parametrize(("files", "message"), FAULTS)
def test_a_fault_is_named_with_its_place(
    files: dict[str, bytes], message: str, tmp_path: Path
) -> None:
    spec = put(tmp_path, **files)
    with pytest.raises(DataError) as caught:
        list(read_pairs(spec))
    assert str(caught.value) == message.replace("{}/", f"{tmp_path}/")


def test_damaged_gzip_is_named_with_its_place(tmp_path: Path) -> None:
    whole = gzip.compress("".join(f"{n} {n * n}\tx\n" for n in range(20_000)).encode())
    spec = put(tmp_path, a__tsv__gz=whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"a\.tsv\.gz: the gzip data is damaged after line \d"):
        list(read_pairs(spec))


def test_a_missing_file_is_named_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.tsv does not exist"):
        read_pairs([tmp_path / "nothing.tsv"])


def test_nothing_is_written_over_unless_forced(tmp_path: Path) -> None:
    spec = put(tmp_path, a__fr=b"mine\n", a__en=b"mine\n")
    with pytest.raises(DataError, match="exists already; --force writes over it"):
        write_pairs(spec, PAIRS)
    write_pairs(spec, PAIRS, force=True)
    assert list(read_pairs(spec)) == PAIRS


def test_a_failed_writing_leaves_the_old_files_and_nothing_else(tmp_path: Path) -> None:
    spec = put(tmp_path, a__fr=b"old\n", a__en=b"old\n")
    with pytest.raises(DataError, match="pair 2 holds a tab or a line break"):
        write_pairs(spec, [*PAIRS[:1], Example("two\nlines", "x")], force=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "a.fr": b"old\n",
        "a.en": b"old\n",
    }


def test_compressed_files_carry_no_time_stamp(tmp_path: Path) -> None:
    write_pairs([tmp_path / "a.tsv.gz"], PAIRS)
    assert (tmp_path / "a.tsv.gz").read_bytes()[4:8] == bytes(4)


def test_json_lines_are_readable_by_people(tmp_path: Path) -> None:
    write_pairs([tmp_path / "a.jsonl"], PAIRS[1:2])
    line = (tmp_path / "a.jsonl").read_text(encoding="utf-8")
    assert "Où ça ?" in line
    assert json.loads(line) == {"source": "Où ça ?", "target": "Where?"}
