"""The estimate: plausible, and without a trace."""

import dataclasses
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest
import torch

from regard.build import build_trainer, open_run
from regard.data.batching import Batch
from regard.train.checkpoint import model_tensors
from regard.train.config import TrainConfig
from regard.train.estimate import NUM_BATCHES, Estimate, estimate
from regard.train.trainer import Trainer
from tests.train.recording import equal


def make_trainer(run: Path) -> Trainer:
    return build_trainer(open_run(run))


def with_config(trainer: Trainer, config: TrainConfig) -> Estimate:
    trainer.config = config
    return estimate(trainer)


def test_the_estimate_leaves_no_trace(trained_run: Path) -> None:
    trainer = make_trainer(trained_run)
    before = {name: tensor.clone() for name, tensor in model_tensors(trainer.model).items()}
    random_state = torch.get_rng_state()
    estimate(trainer)
    assert torch.equal(torch.get_rng_state(), random_state)
    assert equal(model_tensors(trainer.model), before)
    assert all(parameter.grad is None for parameter in trainer.model.parameters())


def test_time_grows_with_steps_and_accumulation(trained_run: Path) -> None:
    trainer = make_trainer(trained_run)
    config = dataclasses.replace(trainer.config, steps=10)
    longer = dataclasses.replace(config, steps=1000, accumulate=2)
    short, long = (with_config(trainer, c).seconds for c in (config, longer))
    assert 0 < 10 * short < long


def test_memory_is_at_least_what_the_model_needs(trained_run: Path) -> None:
    trainer = make_trainer(trained_run)
    expected = estimate(trainer)
    assert expected.memory > 4 * 4 * trainer.model.num_parameters()


def test_a_moving_average_needs_one_more_number_a_parameter(trained_run: Path) -> None:
    trainer = make_trainer(trained_run)
    configs = [dataclasses.replace(trainer.config, ema=ema) for ema in (0.0, 0.9)]
    less, more = (with_config(trainer, c).memory for c in configs)
    assert more - less >= 4 * trainer.model.num_parameters()


def test_it_learns_as_the_trainer_does_and_forgets_statistics(
    trained_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make_trainer(trained_run)
    statistics = torch.zeros(())
    trainer.model.register_buffer("statistics", statistics)
    learn, learned = trainer.learn, []

    def counted(batches: Sequence[Batch]) -> tuple[int, float, float]:
        learned.append(len(batches))
        statistics.add_(1)
        return learn(batches)

    monkeypatch.setattr(trainer, "learn", counted)
    estimate(trainer)
    assert learned == [1] * NUM_BATCHES
    assert trainer.model.statistics == 0
    trainer.step(list(islice(trainer.batches.epoch(0), 2)))
    assert learned[-1] == 2 and trainer.model.statistics == 1
