"""Minutes that end a training: the processor's, and a cosine's."""

import itertools
import time
from collections.abc import Sequence

import pytest

from regard.data.batching import Batch
from regard.train.checkpoint import checkpoints
from tests.train.recording import MakeTrainer, recorder


def test_training_ends_when_its_minutes_are_over(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=1000, minutes=1e-6)
    trainer.train()
    assert trainer.progress.step == 1
    assert [scores.step for scores, _ in recorder(trainer).validations] == [1]
    assert checkpoints(trainer.run)


def test_a_cosine_ends_with_the_minutes(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make_trainer(
        steps=1_000_000, minutes=0.5, warmup=5, schedule="cosine", learning_rate=0.5, average=0
    )
    # A step takes 0.3 seconds, and one in three twice as long: 75 steps.
    clock = itertools.accumulate(
        0.0 if i % 2 == 0 else 0.6 if i % 3 == 0 else 0.3 for i in itertools.count()
    )
    monkeypatch.setattr(trainer, "busy", lambda: next(clock))
    trainer.train()
    rates = [report.learning_rate for report in recorder(trainer).steps]
    assert len(rates) == pytest.approx(75, abs=1)
    assert rates[4] == 0.5
    assert rates[len(rates) // 2] == pytest.approx(0.25, rel=0.2)
    assert rates[-1] < 0.005


def test_a_cosine_ends_with_the_steps_where_these_are_sooner_than_the_minutes(
    make_trainer: MakeTrainer,
) -> None:
    trainer = make_trainer(steps=20, minutes=60.0, warmup=5, schedule="cosine", average=0)
    trainer.train()
    assert recorder(trainer).steps[-1].learning_rate == 0.0


def test_minutes_are_those_of_the_processor(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make_trainer(steps=1)
    learn = trainer.learn

    def learn_late(batches: Sequence[Batch]) -> tuple[int, float, float]:
        time.sleep(0.5)
        return learn(batches)

    monkeypatch.setattr(trainer, "learn", learn_late)
    report = trainer.step([next(trainer.batches.epoch(0))])
    assert 0 < report.busy <= report.seconds - 0.5
    assert trainer.progress.seconds == report.busy


def test_what_the_cores_do_counts(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=1)
    before = trainer.busy()
    trainer._cores.busy += 5
    assert trainer.busy() >= before + 5


def test_minutes_that_are_over_stay_over(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=1000, minutes=0.5)
    trainer.progress.seconds = 31.0
    trainer.train()
    assert trainer.progress.step == 0
