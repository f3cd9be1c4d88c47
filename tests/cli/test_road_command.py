"""`regard road` refuses what it cannot run, before it begins, and loses nothing that it ran."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

import regard.cli.road
from regard.cli.app import main
from regard.errors import DivergedError
from regard.road import systems
from regard.road.systems import System
from regard.train.trainer import Trainer
from tests.road.little_race import little_corpus, little_race

BUDGET = ["--budget", "1"]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (BUDGET, "which corpus? give --corpus DIR"),
        (["--corpus", "corpus", "--pair", "fr-en"], "what may each system spend?"),
        (["--experiment", "data"], "what may each system spend?"),
        ([*BUDGET, "--flops", "1e9", "--experiment", "data"], "what may each system spend?"),
        (["--quick", "--corpus", "corpus"], "--quick brings its own corpus and budget"),
        (["--quick", "--systems", "gur"], "--systems gur: no such system; did you mean gru?"),
        (["--quick", "--ensemble", "gru+lsmt"], "no such system; did you mean lstm"),
        (["--quick", "--experiment", "data", "--systems", "gur"], "did you mean gru?"),
        (
            ["--quick", "--experiment", "length", "--ensemble", "gru+lstm"],
            "--ensemble is of the race",
        ),
        (
            ["--experiment", "length", "--corpus", "corpus", "--pair", "fr-en", *BUDGET],
            "--experiment length writes sentences whose lengths it knows; leave out --corpus",
        ),
        (
            ["--quick", "--experiment", "gradient", "--systems", "gru", "phrases"],
            "--systems phrases: made of counts, it has no gradient",
        ),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(
    given: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    little_corpus(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["road", *given]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert complaint in said
    assert not Path("runs").exists()


def test_a_folder_of_another_race_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    little_race(tmp_path, out="runs/road").hold()
    given = ["--corpus", "corpus", "--pair", "fr-en", "--budget", "30", "--systems", "dictionary"]
    assert main(["road", *given]) == 2
    assert capsys.readouterr().err == (
        "regard: runs/road is a race on corpus, fr → en, where budget.minutes is 1e-06, here 30; "
        "give another --out\n"
    )


MODEL = {"d_model": 16, "heads": 2, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1}
LEARNED = [
    System(name=name, title=name, settings={"model": MODEL}, starts_from=base)
    for name, base in (("good", None), ("other", None), ("bad", None), ("also-bad", "bad"))
]
COUNTED = System(name="zero", title="A dictionary", kind="dictionary")
RACE = ["road", "--corpus", "corpus", "--pair", "fr-en", "--budget", "1e-6", "--sentence", "Oui."]


@pytest.fixture
def track(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a race of four little systems is kept."""
    little_corpus(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(systems, "SYSTEMS", (COUNTED, *LEARNED))
    settings = {"text": {"vocab_size": 340}, "train": {"batch_tokens": 400, "ema": 0.9}}
    monkeypatch.setattr("regard.cli.road.SETTINGS", settings)
    return Path("runs/road")


def raced(folder: Path) -> list[str]:
    """The systems in a race's results."""
    return [each["system"] for each in json.loads((folder / "results.json").read_text())["results"]]


@pytest.fixture
def diverging(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the systems that diverge."""
    names = {"bad"}
    train = Trainer.train

    def diverge(trainer: Trainer) -> None:
        if trainer.run.parent.name in names:
            raise DivergedError("step 7: the loss is nan")
        train(trainer)

    monkeypatch.setattr(Trainer, "train", diverge)
    return names


@pytest.mark.usefixtures("diverging")
def test_who_diverges_is_left_out_and_the_others_go_on(
    track: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*RACE, "--ensemble", "good+bad"]) == 2
    assert raced(track) == ["zero", "good", "other"]
    said = capsys.readouterr().err
    assert "bad is left out: step 7: the loss is nan" in said
    assert "also-bad is left out: it needs bad" in said
    assert "good+bad is left out: it needs bad" in said
    assert (track / "bleu-flops.png").exists()


def test_a_later_part_of_a_race_keeps_the_rows_of_the_earlier_one(track: Path) -> None:
    assert main([*RACE, "--systems", "good", "--ensemble", "good+other"]) == 0
    assert main([*RACE, "--systems", "zero"]) == 0
    assert raced(track) == ["zero", "good", "other", "good+other"]
    table, translations = (track / "table.md").read_text("utf-8").strip().split("\n\n")
    assert table.count("\n") == translations.count("\n") == 1 + 4


def test_a_race_is_shown_again_without_its_corpus(
    track: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*RACE, "--systems", "zero"]) == 0
    before = capsys.readouterr().out
    for path in [*track.glob("*.png"), *Path("corpus").iterdir()]:
        path.unlink()
    assert main(["road", "--out", str(track)]) == 0
    assert capsys.readouterr().out == before
    assert {path.name for path in track.glob("*.png")} >= {"bleu-flops.png", "bleu-length.png"}
    assert main(["road", "--out", str(track), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["results"][0]["system"] == "zero"


def test_a_stopped_race_has_charts_of_what_it_measured(
    track: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(trainer: Trainer, *_: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Trainer, "train", interrupted)
    assert main(RACE) == 128 + signal.SIGINT
    assert raced(track) == ["zero"]
    assert (track / "bleu-length.png").exists()


def test_where_all_diverge_nothing_is_shown(
    track: Path, diverging: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    diverging.add("good")
    assert main([*RACE, "--systems", "good"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.endswith("good is left out: step 7: the loss is nan\n")
    assert not (track / "results.json").exists()


def test_an_experiment_goes_on_without_who_is_left_out(
    track: Path, diverging: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = [*RACE, "--experiment", "data", "--systems"]
    assert main([*experiment, "good", "also-bad"]) == 2
    said = capsys.readouterr().err
    assert "bad is left out: step 7: the loss is nan" in said
    assert "also-bad is left out: it needs bad, which was left out" in said
    kept = json.loads((track / "data" / "results.json").read_text("utf-8"))["results"]
    assert {point["result"]["system"] for point in kept} == {"good"}
    diverging.add("other")
    assert main([*experiment, "other"]) == 2
    assert capsys.readouterr().err.endswith("regard: no system is left to draw\n")


def test_a_result_that_cannot_be_read_ends_the_race_at_once(
    track: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*RACE, "--systems", "zero"]) == 0
    (track / "zero" / "result.json").write_text("{}", "utf-8")
    capsys.readouterr()
    assert main([*RACE, "--systems", "good", "other"]) == 2
    said = capsys.readouterr().err
    assert "zero/result.json" in said
    assert "left out" not in said
    assert not (track / "other").exists()


def test_text_is_in_small_letters_where_the_papers_score_it_so(track: Path) -> None:
    settings = regard.cli.road._settings("en")
    assert settings["text"] == {"vocab_size": 340, "normalise": "lower"}
    assert settings["train"] == {"batch_tokens": 400, "ema": 0.9, "paper_bleu": True}
    assert regard.cli.road._settings("is") == regard.cli.road.SETTINGS
