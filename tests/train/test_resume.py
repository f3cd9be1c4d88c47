"""Resumed equals uninterrupted, bit for bit; and the comparison would notice."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.build import create_run
from regard.data.batching import Batch, Batches
from regard.models.transformer import TransformerConfig
from regard.train.optimiser import Adam
from regard.train.trainer import Trainer
from tests.train.recording import (
    Trained,
    equal,
    everything_random,
    resumes_on_two_cores,
    train_in_parts,
    train_once,
)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    place = tmp_path_factory.mktemp("unbroken")
    return train_in_parts(place / "run", everything_random(place))


@pytest.fixture(scope="module", params=[[6], [1, 7, 11]], ids=str)
def resumed(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Trained:
    place = tmp_path_factory.mktemp("resumed")
    return train_in_parts(place / "run", everything_random(place), request.param)


def test_the_run_passes_more_than_an_epoch(unbroken: Trained) -> None:
    assert unbroken.trainer.progress.epoch >= 1


def test_weights_and_optimiser_are_equal(unbroken: Trained, resumed: Trained) -> None:
    assert equal(resumed.tensors, unbroken.tensors)


def test_losses_are_equal(unbroken: Trained, resumed: Trained) -> None:
    assert resumed.losses == unbroken.losses


def test_batches_come_in_the_same_order(unbroken: Trained, resumed: Trained) -> None:
    assert resumed.batches == unbroken.batches


def test_progress_is_equal(unbroken: Trained, resumed: Trained) -> None:
    assert resumed.progress == unbroken.progress


def test_the_same_checkpoints_are_on_disk(unbroken: Trained, resumed: Trained) -> None:
    assert resumed.files.keys() == unbroken.files.keys()
    assert all(equal(resumed.files[name], unbroken.files[name]) for name in unbroken.files)


def test_the_logs_are_equal_but_for_the_time(unbroken: Trained, resumed: Trained) -> None:
    assert resumed.log == unbroken.log


def test_a_kill_between_a_save_and_its_tidying_changes_nothing(
    unbroken: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """step-11, which only the first interruption made, must not be averaged in the end."""
    run = create_run(tmp_path / "run", everything_random(tmp_path))
    train_once(run, stop_after=11)

    def killed(self: Trainer, newest: Path) -> None:
        if newest.name == "step-12":
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_tidy", killed)
        with pytest.raises(KeyboardInterrupt):
            train_once(run)
    resumed = train_once(run)
    assert resumed.files.keys() == unbroken.files.keys()
    assert all(equal(resumed.files[name], unbroken.files[name]) for name in unbroken.files)
    assert resumed.log == unbroken.log


def test_a_kill_between_averaging_and_telling_is_made_good(
    unbroken: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = create_run(tmp_path / "run", everything_random(tmp_path))

    def killed(self: Trainer, line: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_tell", killed)
        with pytest.raises(KeyboardInterrupt):
            train_once(run)
    assert train_once(run).log == unbroken.log


SHAPE = TransformerConfig(
    d_model=16, heads=2, d_ff=8, encoder_layers=1, decoder_layers=1, dropout_ff=0.1
)


@pytest.mark.parametrize(("experts", "r_drop"), [(1, 0.0), (1, 5.0), (3, 5.0)])
def test_a_batch_cut_among_cores_resumes_bit_for_bit(
    experts: int, r_drop: float, tmp_path: Path
) -> None:
    config = everything_random(tmp_path, r_drop=r_drop, steps=8)
    config = dataclasses.replace(config, model=dataclasses.replace(SHAPE, experts=experts))
    assert resumes_on_two_cores(tmp_path, config)


def _restores_no_random_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.train.checkpoint._restore_random_state", lambda states: None)


def _restores_no_optimiser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Adam, "restore", lambda *_: None)


def _restores_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.train.checkpoint.load_weights", lambda *_: None)


def _restores_no_position(monkeypatch: pytest.MonkeyPatch) -> None:
    epoch = Batches.epoch

    def from_the_start(self: Batches, number: int, start: int = 0) -> Iterator[Batch]:
        return epoch(self, number)

    monkeypatch.setattr(Batches, "epoch", from_the_start)


@pytest.mark.parametrize(
    "plant",
    [
        _restores_no_random_state,
        _restores_no_optimiser,
        _restores_no_weights,
        _restores_no_position,
    ],
)
def test_a_planted_bug_would_be_noticed(
    unbroken: Trained,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    plant: Callable[[pytest.MonkeyPatch], Any],
) -> None:
    plant(monkeypatch)
    broken = train_in_parts(tmp_path / "run", everything_random(tmp_path), [6])
    assert not equal(broken.tensors, unbroken.tensors)
    assert broken.losses != unbroken.losses
