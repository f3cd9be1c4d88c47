"""The estimate: plausible, and without a trace."""

import dataclasses
from pathlib import Path

import torch

from regard.build import build_trainer, open_run
from regard.train.checkpoint import model_tensors
from regard.train.estimate import estimate
from regard.train.trainer import Trainer
from tests.train.recording import equal


def make_trainer(run: Path) -> Trainer:
    return build_trainer(open_run(run))


def test_the_estimate_leaves_no_trace(trained_run: Path) -> None:
    trainer = make_trainer(trained_run)
    before = {name: tensor.clone() for name, tensor in model_tensors(trainer.model).items()}
    random_state = torch.get_rng_state()
    estimate(trainer.model, trainer.batches, trainer.config)
    assert torch.equal(torch.get_rng_state(), random_state)
    assert equal(model_tensors(trainer.model), before)
    assert all(parameter.grad is None for parameter in trainer.model.parameters())


def test_time_grows_with_steps_and_accumulation(trained_run: Path) -> None:
    trainer = make_trainer(trained_run)
    config = dataclasses.replace(trainer.config, steps=10)
    longer = dataclasses.replace(config, steps=1000, accumulate=2)
    short, long = (estimate(trainer.model, trainer.batches, c).seconds for c in (config, longer))
    assert 0 < 10 * short < long


def test_memory_is_at_least_what_the_model_needs(trained_run: Path) -> None:
    trainer = make_trainer(trained_run)
    expected = estimate(trainer.model, trainer.batches, trainer.config)
    assert expected.memory > 4 * 4 * trainer.model.num_parameters()


def test_a_moving_average_needs_one_more_number_a_parameter(trained_run: Path) -> None:
    trainer = make_trainer(trained_run)
    configs = [dataclasses.replace(trainer.config, ema=ema) for ema in (0.0, 0.9)]
    less, more = (estimate(trainer.model, trainer.batches, c).memory for c in configs)
    assert more - less >= 4 * trainer.model.num_parameters()
