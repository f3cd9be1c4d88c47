"""`regard verify-resume`, as it is typed; and it would notice."""

import copy
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from regard.cli.app import main
from regard.cli.verify_resume import shortened
from regard.config import RunConfig, read_config, with_overrides
from regard.data.batching import Batch, Batches
from regard.errors import ModelFileError
from regard.train import checkpoint
from regard.train.optimiser import Adam
from regard.train.progress import Progress
from regard.train.witness import THINGS
from tests.contracts.file_tree import ROOT

RECIPES = sorted((ROOT / "recipes").glob("*.toml"))
PHRASEBOOK = ROOT / "recipes" / "phrasebook.toml"
# A small model, batches and vocabulary; everything a resume could forget is on.
SMALL = [
    f"--set={setting}"
    for setting in (
        "data.noise=0.5",
        "text.vocab_size=400",
        "model.d_model=16",
        "model.d_ff=16",
        "model.encoder_layers=1",
        "model.decoder_layers=1",
        "train.batch_tokens=200",
        "train.device=cpu",
        "train.ema=0.9",
    )
]
IMPATIENT = ["--set=train.patience=1", "--set=train.learning_rate=1e-30"]
STEPS = 5


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the corpus that the recipe names, shorter."""
    place = tmp_path_factory.mktemp("desk")
    corpus = place / "data" / "phrasebook"
    assert main(["data", "make", "phrasebook", "--out", str(corpus), "--size", "120"]) == 0
    return place


@pytest.fixture(autouse=True)
def _at_the_desk(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk)


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The resumed part in a thread instead of a process, where what is patched is patched."""
    monkeypatch.setattr("multiprocessing.context.SpawnContext.Process", threading.Thread)


def verify(*arguments: str) -> int:
    return main(["verify-resume", str(PHRASEBOOK), "--steps", str(STEPS), *SMALL, *arguments])


# ------------------------------------------------------------------------------ the recipe


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: str(path.stem))
def test_every_recipe_is_a_run_file(recipe: Path) -> None:
    assert isinstance(read_config(recipe), RunConfig)


def test_the_phrasebook_recipe_has_all_that_a_resume_could_forget() -> None:
    config = read_config(PHRASEBOOK)
    assert config.model.dropout > 0
    assert config.text.sampling > 0
    assert config.train.accumulate > 1
    assert config.train.patience > 0


# ------------------------------------------------------------------------------ equal


def test_the_phrasebook_recipe_resumes_bit_for_bit_in_another_process(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert verify("--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["is_equal"] is True
    assert found["first_difference"] is None
    assert (found["interrupted_after"], found["steps"]) == (STEPS, 2 * STEPS)
    compared = found["compared"]
    assert set(compared) == set(THINGS)
    assert compared["order of examples"] == compared["pieces of examples"] == 2 * STEPS
    assert compared["losses"] == 2 * STEPS
    # Before the first step, and after each.
    assert compared["weights"] == compared["optimiser"] == 2 * STEPS + 1
    assert compared["moving average"] == 2 * STEPS + 1
    assert compared["random state"] == compared["early stopping"] == 2 * STEPS + 1
    assert compared["validations"] == STEPS


@pytest.mark.usefixtures("in_this_process")
def test_a_person_gets_a_table_and_a_verdict_and_nothing_is_left_behind(
    desk: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = sorted(desk.rglob("*"))
    assert verify() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("phrasebook.toml: 10 steps unbroken, and interrupted after 5")
    assert lines[1].startswith("data.noise = 0.5, model.dropout = 0.1, ")
    assert "text.sampling = 0.1, train.accumulate = 2, train.patience = 3" in lines[1]
    assert lines[-1] == "equal, bit for bit"
    assert sorted(desk.rglob("*")) == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("steps", [1, 2, 7, 50])
def test_both_halves_validate_and_save(steps: int) -> None:
    train = shortened(read_config(PHRASEBOOK), steps).train
    assert train.steps == 2 * steps
    assert train.validate_every == train.save_every <= steps
    assert steps < 4 or steps % train.save_every != 0 or train.save_every == 1


def test_bleu_is_kept_only_where_it_decides() -> None:
    config = read_config(PHRASEBOOK)
    assert not shortened(config, 5).train.validate_bleu
    assert shortened(with_overrides(config, ["train.stop_on=bleu"]), 5).train.validate_bleu


# ------------------------------------------------------------------------------ not equal


def _order_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    epoch = Batches.epoch

    def from_the_start(self: Batches, number: int, start: int = 0) -> Iterator[Batch]:
        return epoch(self, number)

    monkeypatch.setattr(Batches, "epoch", from_the_start)


def _random_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_restore_random_state", lambda states: None)


def _optimiser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Adam, "restore", lambda *_: None)


def _weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "load_weights", lambda *_: None)


def _moving_average(monkeypatch: pytest.MonkeyPatch) -> None:
    restore = checkpoint.restore_checkpoint

    def forgetful(folder: Path, model: Any, optimiser: Any, averaged: Any) -> Progress:
        return restore(folder, model, optimiser, copy.deepcopy(averaged))

    monkeypatch.setattr("regard.train.trainer.restore_checkpoint", forgetful)


def _early_stopping(monkeypatch: pytest.MonkeyPatch) -> None:
    restore = checkpoint.restore_checkpoint

    def forgetful(*arguments: Any) -> Progress:
        return replace(restore(*arguments), best_step=None)

    monkeypatch.setattr("regard.train.trainer.restore_checkpoint", forgetful)


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize(
    ("forget", "thing", "step"),
    [
        (_order_of_the_data, "order of examples", STEPS + 1),
        (_random_state, "random state", STEPS),
        (_optimiser, "optimiser", STEPS),
        (_weights, "weights", STEPS),
        (_moving_average, "moving average", STEPS),
        (_early_stopping, "early stopping", STEPS),
    ],
)
def test_what_is_not_restored_is_named(
    forget: Callable[[pytest.MonkeyPatch], None],
    thing: str,
    step: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    forget(monkeypatch)
    assert verify() == 1
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert f"differ from step {step} on" in next(line for line in lines if line.startswith(thing))
    assert lines[-1] == f"NOT equal: the first difference is in the {thing}, at step {step}"


@pytest.mark.usefixtures("in_this_process")
def test_a_program_is_told_where_the_trainings_part(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _optimiser(monkeypatch)
    assert verify("--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["is_equal"] is False
    assert found["first_difference"] == {"step": STEPS, "thing": "optimiser"}
    assert len(found["differences"]) > 1


@pytest.mark.usefixtures("in_this_process")
def test_what_stops_the_resumed_training_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def damaged(*_: Any) -> Progress:
        raise ModelFileError("step-5 is damaged")

    monkeypatch.setattr("regard.train.trainer.restore_checkpoint", damaged)
    assert verify() == 2
    assert capsys.readouterr().err.splitlines()[-1] == "regard: step-5 is damaged"


def test_a_resuming_process_that_dies_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def died(*_: Any, **__: Any) -> threading.Thread:
        return threading.Thread()

    monkeypatch.setattr("multiprocessing.context.SpawnContext.Process", died)
    assert verify() == 2
    assert "the process that resumed the training has died" in capsys.readouterr().err


# ------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.toml"], "regard: absent.toml: "),
        ([str(PHRASEBOOK), "--steps", "0"], "Must be >= 1"),
        ([str(PHRASEBOOK), "--set", "train.step=3"], "did you mean train.steps?"),
        ([str(PHRASEBOOK), "--set", 'data.valid=["no.fr", "no.en"]'], "no.fr cannot be read: No"),
        (
            [str(PHRASEBOOK), "--steps=9", *SMALL, *IMPATIENT],
            "train.patience = 1 ends the training at step 6, before an interruption after 9",
        ),
    ],
)
def test_bad_input_is_one_line_and_exits_with_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify-resume", *arguments]) == 2
    err = capsys.readouterr().err.splitlines()
    assert message in err[-1]
