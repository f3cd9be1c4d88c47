"""Models that come with the package are found by name, and used where none is given."""

import shutil
from pathlib import Path

import pytest

import regard
from regard import bundled
from regard.cli import demo
from regard.cli.app import main

SENTENCE = "Jane visite l'Afrique en septembre."


@pytest.fixture
def came_along(trained_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As if the package had come with a model of the tests, in half precision."""
    place = tmp_path / "bundled"
    assert main(["quantise", str(trained_run), "--out", str(place / "fr-en"), "--bits", "16"]) == 0
    monkeypatch.setattr(bundled, "PLACE", place)
    monkeypatch.chdir(tmp_path)
    return place / "fr-en"


def out_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_the_name_means_the_model(came_along: Path) -> None:
    one, other = regard.load("fr-en"), regard.load(came_along)
    assert one.translate(SENTENCE).text == other.translate(SENTENCE).text


def test_a_folder_of_that_name_comes_first(came_along: Path, trained_run: Path) -> None:
    shutil.copytree(trained_run, "fr-en")
    assert bundled.run_folder("fr-en") == Path("fr-en")
    shutil.rmtree("fr-en")
    assert bundled.run_folder("fr-en") == came_along


def test_commands_take_it_where_no_model_is_given(
    came_along: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = out_of(capsys, "translate", SENTENCE, "--model", str(came_along))
    assert out_of(capsys, "translate", SENTENCE) == expected
    assert out_of(capsys, "translate", SENTENCE, "--to", "en") == expected
    assert out_of(capsys, "translate", SENTENCE, "--model", "fr-en") == expected
    assert expected.strip() in out_of(capsys, "look", SENTENCE)
    assert "fr → en" in out_of(capsys, "info", "fr-en")


def test_the_demo_answers_at_once(came_along: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = out_of(capsys, "demo")
    assert demo.SENTENCE in printed
    assert Path("demo/attention.png").read_bytes().startswith(b"\x89PNG")
    assert not Path("demo/run").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--to", "de"], "--to de: no model into it came with the package (there are: en)"),
        (["--to", "en", "--model", "fr-en"], "leave it out with --model"),
        (["--model", "de-en"], "de-en: no such run folder"),
    ],
)
def test_what_did_not_come_along_is_one_line(
    came_along: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str
) -> None:
    assert main(["translate", SENTENCE, *arguments]) == 2
    assert expected in capsys.readouterr().err


def test_half_precision_is_half_the_size_and_says_the_same(
    came_along: Path, trained_run: Path
) -> None:
    (half,) = came_along.glob("best-*/weights.safetensors")
    whole = min(path.stat().st_size for path in trained_run.glob("best-*/weights.safetensors"))
    assert half.stat().st_size < 0.55 * whole
    found = [regard.load(folder).translate(SENTENCE) for folder in (came_along, trained_run)]
    assert found[0].text == found[1].text
    assert found[0].score == pytest.approx(found[1].score, abs=0.01)


# ------------------------------------------------------------------------------ what came along


def test_two_models_come_along_in_forty_megabytes() -> None:
    found = bundled.bundled()
    assert set(found) == {"en-fr", "fr-en"}
    files = [path for folder in found.values() for path in folder.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 40e6
    assert all((folder / "CARD.md").is_file() for folder in found.values())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([SENTENCE], "Jane visits Africa in September."),
        (["Où est la gare ?"], "Where's the station?"),
        (["--to", "fr", "Where is the station?"], "Où est la gare ?"),
    ],
)
def test_they_translate(
    capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str
) -> None:
    assert out_of(capsys, "translate", *arguments).strip() == expected
