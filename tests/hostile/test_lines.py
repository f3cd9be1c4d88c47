"""A thousand hostile lines through the real command: a line out for each, in order."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.api import Translator, load
from regard.cli.app import main
from regard.text.normal import CONTROL
from tests.hostile.hostile_lines import NUM_LINES, NUM_LONG, SENTENCE, hostile_lines
from tests.hostile.small_run import write_run

REGARD = [sys.executable, "-c", "import sys; from regard.cli.app import main; sys.exit(main())"]


@pytest.fixture(scope="module", params=[False, True], ids=["text", "json"])
def answered(request: pytest.FixtureRequest, trained_run: Path) -> tuple[bool, list[str], str]:
    """Whether JSON was asked for, the lines that came out, and what was said beside them."""
    options = ["--beam", "1", "--device", "cpu", *(["--json"] if request.param else [])]
    done = subprocess.run(
        [*REGARD, "translate", "--model", str(trained_run), *options],
        input=b"".join(line + b"\n" for line in hostile_lines()),
        capture_output=True,
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    out = done.stdout.decode()  # all of it is UTF-8
    assert out.endswith("\n")
    return request.param, out[:-1].split("\n"), done.stderr.decode()


Answered = tuple[bool, list[str], str]


def test_a_thousand_lines_give_a_thousand_lines(answered: Answered) -> None:
    _, lines, _ = answered
    assert len(lines) == NUM_LINES


def test_no_line_holds_what_ends_a_line_elsewhere(answered: Answered) -> None:
    _, lines, _ = answered
    assert [line for line in lines if CONTROL.search(line)] == []


def test_lines_come_in_order(answered: Answered, translator: Translator) -> None:
    is_json, lines, _ = answered
    given = hostile_lines()
    places = [i for i, line in enumerate(given) if line == SENTENCE.encode()]
    expected = translator.translate(SENTENCE, beam=1).text
    found = [json.loads(lines[i])["text"] if is_json else lines[i] for i in places]
    assert found and set(found) == {expected}


def test_every_line_is_answered_with_its_own_source(answered: Answered) -> None:
    is_json, lines, _ = answered
    if is_json:
        for given, line in zip(hostile_lines()[1:], lines[1:], strict=True):
            # Control characters aside, the source is the line that was given.
            text = CONTROL.sub("", given.decode(errors="replace"))
            assert re.sub(r"\s", "", json.loads(line)["source"]) == re.sub(r"\s", "", text)


def test_what_was_mended_is_one_line_and_what_was_cut_another(answered: Answered) -> None:
    _, _, err = answered
    mended, cut = err.splitlines()
    assert re.fullmatch(
        r"regard: [\d,]+ characters that are not UTF-8 read as \ufffd; "
        r"[\d,]+ control characters read as a space or left out",
        mended,
    )
    long = [
        n for n, line in enumerate(hostile_lines(), 1) if len(line) > 9000 and b". " not in line
    ]
    assert len(long) == NUM_LONG - 1
    assert cut == (
        "regard: a sentence of more than 256 pieces was translated in parts, cut at clause marks, "
        f"else white space, else anywhere: line {', '.join(map(str, long))}"
    )


# ------------------------------------------------------------------------------ too long


def test_a_notebook_cuts_by_the_same_rule(translator: Translator) -> None:
    text = "la gare, " * 300
    found = translator.translate(text, beam=1)
    assert found.num_cut == 1
    assert translator.max_pieces == 256
    assert all(len(part.source.ids) <= 256 for part in found.sentences)
    assert [part.source.text[-1] for part in found.sentences[:-1]] == [","] * (
        len(found.sentences) - 1
    )
    assert " ".join(part.source.text for part in found.sentences) == text.strip()


def test_parts_are_joined_with_the_white_space_between_them(translator: Translator) -> None:
    assert translator.max_pieces is not None
    word = "gare" * 100
    found = translator.translate(f"{word}   {word}", beam=1)
    ones = [translator.translate(word, beam=1).text for _ in range(2)]
    assert found.text == "   ".join(ones)


def test_whole_lines_are_cut_at_the_ends_of_sentences_first(translator: Translator) -> None:
    sentence = "Jane visite la gare, demain."
    found = translator.translate(" ".join([sentence] * 60), beam=1, split_sentences=False)
    assert found.num_cut == 1
    assert all(part.source.text.endswith("demain.") for part in found.sentences)


@settings(max_examples=25)
@given(st.text(max_size=60))
def test_learned_positions_are_never_exceeded(learned: Translator, text: str) -> None:
    found = learned.translate(text, beam=1, max_ratio=5.0, max_extra=100)
    for part in found.sentences:
        assert len(part.source.ids) < 16 or len(part.source.text) == 1
        assert len(part.best.target.ids) < 16


@pytest.fixture(scope="session")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """A model with 16 positions and no more."""
    place = tmp_path_factory.mktemp("learned")
    return load(write_run(place, position="learned", max_positions=16), device="cpu")


def test_only_ten_line_numbers_are_listed(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text("gare " * 100 + "\n" + ("gare " * 100 + "\n") * 11, "utf-8")
    assert main(["translate", "--model", str(run), "--file", str(tmp_path / "text")]) == 0
    assert capsys.readouterr().err.endswith("line 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more\n")


def test_a_line_of_a_megabyte_is_answered_in_bounded_memory(run: Path, tmp_path: Path) -> None:
    """The model that learned nothing writes four pieces a part: the reading is what is tested."""
    path = tmp_path / "text"
    path.write_bytes(b"gare, " * 250_000 + b"\nJane voit.\n")
    program = (
        "import resource, sys; from regard.cli.app import main; import regard.api; "
        "resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000,) * 2); sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "translate", "--model", str(run), "--file", str(path)],
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count(b"\n") == 2
    assert b"1 lines cut after 1,000,000 bytes" in done.stderr
