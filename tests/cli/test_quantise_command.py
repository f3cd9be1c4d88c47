"""`regard quantise`: the same model in a quarter of the bytes."""

from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from regard.api import load
from regard.cli.app import main
from regard.sealed import sealing, verify
from regard.train.checkpoint import WEIGHTS

SENTENCES = ["Jane visite l'Afrique en septembre.", "elle aime la gare ici.", "Mon ami voit."]


@pytest.fixture
def quantised(trained_run: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "int8"
    assert main(["quantise", str(trained_run), "--out", str(folder)]) == 0
    return folder


def weights(folder: Path) -> Path:
    (found,) = folder.glob(f"*/{WEIGHTS}")
    return found


def test_the_folder_is_sealed_and_small(trained_run: Path, quantised: Path) -> None:
    verify(quantised)
    verify(weights(quantised).parent)
    before = min(path.stat().st_size for path in trained_run.glob(f"best-*/{WEIGHTS}"))
    assert weights(quantised).stat().st_size < 0.5 * before


def test_it_translates_as_quantising_on_load_does(trained_run: Path, quantised: Path) -> None:
    one, other = load(quantised, device="cpu"), load(trained_run, device="cpu", int8=True)
    found = [[t.text for t in each.translate(SENTENCES, align=False)] for each in (one, other)]
    assert found[0] == found[1]
    scores = [[t.score for t in each.translate(SENTENCES, align=False)] for each in (one, other)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)


def test_watched_and_unwatched_agree_in_integers(quantised: Path) -> None:
    model = load(quantised, device="cpu")
    watched, unwatched = (model.translate(SENTENCES, align=align) for align in (True, False))
    assert [t.text for t in watched] == [t.text for t in unwatched]
    # What lies at the border of two integers falls on either side, by how it was summed.
    expected = pytest.approx([t.score for t in unwatched], abs=1e-3)
    assert [t.score for t in watched] == expected


def test_the_commands_take_it(
    trained_run: Path, quantised: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = []
    for options in (["--model", str(quantised)], ["--model", str(trained_run), "--int8"]):
        capsys.readouterr()
        assert main(["translate", *options, SENTENCES[0]]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert main(["info", str(quantised)]) == 0


def test_a_second_time_is_refused(
    quantised: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["quantise", str(quantised), "--out", str(tmp_path / "again")]) == 2
    assert "is in 8-bit integers already" in capsys.readouterr().err


def test_a_folder_that_exists_is_refused(
    trained_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["quantise", str(trained_run), "--out", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize("damage", ["missing", "short"])
def test_integers_without_a_scale_for_each_row_are_refused(
    quantised: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    path = weights(quantised)
    tensors = load_file(path)
    name = next(name for name in tensors if name.endswith(".scale"))
    if damage == "missing":
        del tensors[name]
    else:
        tensors[name] = tensors[name][:-1].clone()
    with sealing(quantised / "best-999") as temporary:
        save_file(tensors, temporary / WEIGHTS)
        (temporary / "scores.json").write_bytes((path.parent / "scores.json").read_bytes())
    assert main(["translate", "--model", str(quantised), "x"]) == 2
    assert "has not one scale for each row" in capsys.readouterr().err
