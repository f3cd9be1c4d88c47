"""Corpora that cannot be trained on: one line, exit code 2, and no run folder is left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from regard.cli.app import main
from tests.little_corpus import write_corpus

LATIN = "line 2, byte 4: 0xE9 is not UTF-8; convert it with: iconv -f LATIN1 -t UTF-8"
FAULTS = {
    "Latin-1": ("un\ncafé\n".encode("latin-1"), LATIN),
    "UTF-16": (
        "un\n".encode("utf-16"),
        "line 1, byte 1: 0xFF is not UTF-8; convert it with: iconv -f UTF-16 -t UTF-8",
    ),
    "an encoded surrogate": (b"un\n\xed\xa0\x80\n", "line 2, byte 1: 0xED is not UTF-8"),
    "a line fewer": (b"un\n", "train.fr has 1 lines, "),
    "half a gzip file": (b"\x1f\x8b\x08\x00", "the gzip data is damaged after line 0"),
}


def complaint(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["train", "--out", "run", "--preset", "nano", *arguments]) == 2
    *said, line = capsys.readouterr().err.splitlines()
    assert line.startswith("regard: ")
    assert all(each.startswith("reading ") for each in said)
    assert not Path("run").exists()
    return line


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path)


@pytest.mark.parametrize(("content", "message"), FAULTS.values(), ids=FAULTS)
def test_a_file_that_is_no_corpus_is_named_with_its_place(
    content: bytes, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("train.fr").write_bytes(content)
    found = complaint(["--source", "train.fr", "--target", "train.en"], capsys)
    assert "train.fr" in found and message in found


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("absent.fr", "absent.fr does not exist"),
        (".", ". is a folder; a file is expected"),
        ("train.fr/x", "train.fr/x does not exist"),
        ("x" * 300, "x"),
    ],
)
def test_a_path_that_is_no_file_is_named(
    source: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in complaint(["--source", source, "--target", "train.en"], capsys)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_a_path_that_is_not_utf_8_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    name = os.fsdecode(b"caf\xe9.fr")
    os.rename("train.fr", name)
    found = complaint(["--source", name, "--target", "train.en"], capsys)
    assert "data.train = 'caf\\udce9.fr' is not UTF-8, as a run file is; rename it" in found


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="root may read everything")
def test_an_unreadable_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    os.chmod("train.fr", 0)
    found = complaint(["--source", "train.fr", "--target", "train.en"], capsys)
    assert "train.fr cannot be read: Permission denied" in found


def test_a_lone_surrogate_in_jsonl_is_named_with_its_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("a.jsonl").write_bytes(
        b'{"source": "\\ud83e\\udd37", "target": "a"}\n{"source": "a", "target": "\\udd37"}\n'
    )
    Path("run.toml").write_text('[data]\ntrain = ["a.jsonl"]\n', "utf-8")
    assert 'a.jsonl: line 2: "target" spells a lone surrogate' in complaint(["run.toml"], capsys)


def test_a_misspelt_key_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    Path("run.toml").write_text("[train]\nlerning_rate = 1\n", "utf-8")
    assert "did you mean train.learning_rate?" in complaint(["run.toml"], capsys)


def test_a_line_of_many_megabytes_is_left_out_in_bounded_memory() -> None:
    with Path("train.fr").open("ab") as french, Path("train.en").open("ab") as english:
        for _ in range(300):
            french.write(b"a" * 1_000_000)
        french.write(b"\n")
        english.write(b"long\n")
    program = (
        "import resource, sys; from regard.data.corpus import Tally, read_pairs; "
        "resource.setrlimit(resource.RLIMIT_AS, (400_000_000,) * 2); tally = Tally(); "
        "print(sum(1 for _ in read_pairs(['train.fr', 'train.en'], tally)), tally.too_long)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.split() == [b"192", b"1"]
