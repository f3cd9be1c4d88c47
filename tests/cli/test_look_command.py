"""`regard look`, as it is typed."""

import json
from pathlib import Path

import pytest
from PIL import Image

from regard.api import load
from regard.cli.app import main

SENTENCE = "Jane visite l'Afrique en septembre."
WORDS = ["Jane", "visite", "l'", "Afrique", "en", "septembre", "."]


def look(run: Path, *options: str, sentence: str = SENTENCE) -> int:
    return main(["look", sentence, "--model", str(run), "--device", "cpu", *options])


def test_the_terminal_shows_the_translation_and_all_words(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert look(run_folder) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[0] == load(run_folder, device="cpu").translate(SENTENCE).text
    assert all(word in printed for word in WORDS)
    assert "Cross-attention, mean over layers and heads" in printed


@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
@pytest.mark.parametrize("options", [(), ("--layer", "2", "--head", "3"), ("--no-words",)])
def test_every_kind_can_be_drawn(
    run_folder: Path, tmp_path: Path, kind: str, options: tuple[str, ...]
) -> None:
    out = tmp_path / "map.svg"
    assert look(run_folder, "--kind", kind, "--out", str(out), *options) == 0
    assert out.read_text("utf-8").startswith("<?xml")


@pytest.mark.parametrize("options", [(), ("--heads",)])
def test_a_png_is_written_and_named(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    out = tmp_path / "map.png"
    assert look(run_folder, "--out", str(out), *options) == 0
    assert str(out) in capsys.readouterr().out
    with Image.open(out) as image:
        assert image.width > 300


def test_json_holds_every_layer_and_head_and_the_words(run_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "map.json"
    assert look(run_folder, "--out", str(out)) == 0
    found = json.loads(out.read_text("utf-8"))
    weights = found["attention"]["weights"]
    assert {kind: (len(w), len(w[0])) for kind, w in weights.items()} == {
        "encoder": (2, 3),
        "decoder": (2, 3),
        "cross": (2, 3),
    }
    assert found["source_words"] == WORDS
    assert len(found["alignment"]) == len(found["words"])


def test_printed_json_equals_written_json(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "map.json"
    assert look(run_folder, "--out", str(out), "--json") == 0
    assert json.loads(capsys.readouterr().out) == json.loads(out.read_text("utf-8"))


def test_a_beam_can_be_chosen(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert look(run_folder, "--beam", "1", "--json") == 0
    greedy = load(run_folder, device="cpu").translate(SENTENCE, beam=1)
    assert json.loads(capsys.readouterr().out)["text"] == greedy.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--out", "map.gif"],
            "--out map.gif: expected a name that ends in .png, .svg, .html or .json",
        ),
        (["--out", "absent/map.png"], "absent/map.png: cannot be written (No such file"),
        (["--out", "absent/map.json"], "absent/map.json: cannot be written (No such file"),
        (["--out", "absent/map.html"], "absent/map.html: cannot be written (No such file"),
        (["--heads", "--out", "map.html"], "a .html holds every head anyway"),
        (["--layer", "3"], "layer 3 does not exist; expected 1 to 2"),
        (["--layer", "0"], "layer 0 does not exist; expected 1 to 2"),
        (["--head", "4"], "head 4 does not exist; expected 1 to 3"),
        (["--heads"], "--heads draws a grid into a file; add --out FILE.png"),
        (["--heads", "--out", "map.json"], "a .json holds every head anyway"),
        (["--heads", "--layer", "1", "--out", "map.png"], "leave out --layer and --head"),
        (["--beam", "0"], "decoding.beam = 0"),
        (["--word", "Jane"], "--context and --word go together"),
        (["--word", "chat", "--context", "le chat"], 'septembre." has no word chat; it has: Jane'),
        (["--kind", "self"], "Invalid value"),
    ],
)
def test_a_mistake_is_answered_in_one_line(
    run_folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert look(run_folder, *options) == 2
    complaint = capsys.readouterr().err
    assert message in complaint
    assert complaint.count("\n") == 1


def test_an_empty_sentence_is_refused(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert look(run_folder, sentence="  ") == 2
    assert "the sentence is empty" in capsys.readouterr().err


def test_a_page_is_written_and_named(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "look.html"
    assert look(run_folder, "--out", str(out)) == 0
    assert str(out) in capsys.readouterr().out
    page = out.read_text("utf-8")
    assert "<attention-view>" in page and "<title>Jane visite" in page


def test_a_word_is_compared_in_two_contexts(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--word", "Jane", "--context", "le chat visite Jane."]
    assert look(run_folder, *options, "--json") == 0
    cosines = json.loads(capsys.readouterr().out)["cosines"]
    assert len(cosines) == 3  # before the first layer, after each of two
    assert look(run_folder, *options) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in printed[1:]] == [f"{cosine:.3f}" for cosine in cosines]
