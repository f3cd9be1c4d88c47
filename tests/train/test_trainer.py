"""The training loop: what it learns, when it stops, what it leaves behind."""

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from regard.data.batching import Batch
from regard.errors import DivergedError, ModelFileError
from regard.models.interface import Seq2Seq
from regard.train.checkpoint import checkpoints, model_tensors, read_scores
from regard.train.observer import Shown
from regard.train.progress import Scores
from tests.train.recording import MakeTrainer, Recorder, equal, recorder


def scripted(losses: list[float], bleus: list[float | None]) -> Callable[..., Any]:
    """A validator that finds what the script says, whatever the model."""
    found = iter(zip(losses, bleus, strict=True))

    def validate(model: Seq2Seq[Any], step: int) -> tuple[Scores, list[Shown]]:
        return Scores(step, *next(found)), []

    return validate


def halves(batch: Batch) -> list[Batch]:
    size = len(batch.indices)
    return [batch.only(np.arange(size // 2)), batch.only(np.arange(size // 2, size))]


# ------------------------------------------------------------------------------ learning


def test_the_loss_goes_down(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=40)
    trainer.train()
    losses = [report.nll for report in recorder(trainer).steps]
    assert np.mean(losses[-5:]) < 0.6 * np.mean(losses[:5])


def test_two_half_batches_accumulated_equal_the_whole(make_trainer: MakeTrainer) -> None:
    together, apart = make_trainer("a"), make_trainer("b")
    batch = next(together.batches.epoch(0))
    whole = together.step([batch])
    parts = apart.step(halves(batch))
    assert parts.loss == pytest.approx(whole.loss, rel=1e-5)
    assert parts.gradient_norm == pytest.approx(whole.gradient_norm, rel=1e-4)
    assert parts.tokens == whole.tokens
    for name, gradient in apart.model.named_parameters():
        expected = dict(together.model.named_parameters())[name].grad
        torch.testing.assert_close(gradient.grad, expected, rtol=1e-4, atol=1e-6)


def test_the_loss_is_a_mean_over_tokens(make_trainer: MakeTrainer) -> None:
    """An untrained model is near the uniform distribution, whatever the size of the batch."""
    trainer = make_trainer()
    report = trainer.step([next(trainer.batches.epoch(0))])
    assert report.nll == pytest.approx(math.log(len(trainer.validator.tokenisers.target)), rel=0.5)


def test_a_gradient_is_clipped_to_the_limit(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(clip=0.01)
    report = trainer.step([next(trainer.batches.epoch(0))])
    gradients = [p.grad.norm() for p in trainer.model.parameters() if p.grad is not None]
    assert report.gradient_norm > 0.01
    assert float(torch.stack(gradients).norm()) == pytest.approx(0.01, rel=1e-3)


def test_no_limit_clips_nothing(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(clip=0.0)
    report = trainer.step([next(trainer.batches.epoch(0))])
    gradients = [p.grad.norm() for p in trainer.model.parameters() if p.grad is not None]
    assert float(torch.stack(gradients).norm()) == pytest.approx(report.gradient_norm)


def test_the_learning_rate_follows_the_schedule(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=8, warmup=4, learning_rate=0.01)
    trainer.train()
    rates = [report.learning_rate for report in recorder(trainer).steps]
    assert rates[:4] == pytest.approx([0.0025, 0.005, 0.0075, 0.01])
    assert rates[7] == pytest.approx(0.01 * math.sqrt(4 / 8))


# ------------------------------------------------------------------------------ NaN and infinity


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_before_the_update(
    make_trainer: MakeTrainer, value: float
) -> None:
    trainer = make_trainer(steps=9, save_every=2)
    trainer.observers = [Recorder(trainer, stop_after=2)]
    trainer.train()
    trainer.is_stopping = False
    with torch.no_grad():
        trainer.model.output.weight[5] = value
    before = {name: tensor.clone() for name, tensor in model_tensors(trainer.model).items()}
    with pytest.raises(DivergedError) as caught:
        trainer.train()
    message = str(caught.value)
    assert message.startswith("step 3: the loss is ")
    assert "training pairs " in message and "the last checkpoint is step-2" in message
    assert "\n" not in message
    after = model_tensors(trainer.model)
    assert all(torch.equal(after[n].nan_to_num(7), before[n].nan_to_num(7)) for n in before)
    assert trainer.progress.step == 2
    assert [folder.name for folder in checkpoints(trainer.run)] == ["step-2"]


def test_the_pairs_of_the_batch_are_named(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer()
    batch = next(trainer.batches.epoch(0))
    with torch.no_grad():
        trainer.model.output.weight.fill_(math.nan)
    with pytest.raises(DivergedError) as caught:
        trainer.step([batch])
    named = ", ".join(f"{index + 1:,}" for index in sorted(batch.indices.tolist())[:5])
    assert f"(training pairs {named} … of {len(batch.indices)})" in str(caught.value)
    assert "the last checkpoint is none" in str(caught.value)


def test_a_gradient_that_is_not_finite_stops_before_the_update(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer()
    before = {name: tensor.clone() for name, tensor in model_tensors(trainer.model).items()}
    norm = trainer.model.get_parameter("encoder.layers.0.residuals.0.norm.weight")
    norm.register_hook(lambda gradient: gradient * math.nan)
    with pytest.raises(DivergedError, match="step 1: the gradient is nan"):
        trainer.step([next(trainer.batches.epoch(0))])
    assert equal(model_tensors(trainer.model), before)
    assert trainer.progress.step == 0


# ------------------------------------------------------------------------------ stopping


@pytest.mark.parametrize(
    ("stop_on", "losses", "bleus", "expected"),
    [
        ("loss", [3.0, 2.0, 2.5, 2.1, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], (2, 5)),
        ("bleu", [3.0, 2.0, 1.5, 1.1, 1.0, 0.5], [1.0, 3.0, 2.0, 3.0, 1.0, 9.0], (2, 5)),
        ("loss", [3.0, 3.1, 3.2, 2.9, 3.0, 3.1, 3.2], [None] * 7, (4, 7)),
    ],
)
def test_training_stops_when_patience_runs_out(
    make_trainer: MakeTrainer,
    stop_on: str,
    losses: list[float],
    bleus: list[float | None],
    expected: tuple[int, int],
) -> None:
    trainer = make_trainer(
        steps=50, validate_every=1, patience=3, average=0, stop_on=stop_on, validate_bleu=True
    )
    trainer.validator = scripted(losses, bleus)  # type: ignore[assignment]
    trainer.train()
    best_step, last_step = expected
    assert (trainer.progress.best_step, trainer.progress.step) == expected
    assert [f.name for f in checkpoints(trainer.run, "best")] == [f"best-{best_step}"]
    assert [f.name for f in checkpoints(trainer.run)] == [f"step-{last_step}"]


def test_a_run_out_of_patience_stays_so_after_resuming(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=50, validate_every=1, patience=2, average=0)
    trainer.validator = scripted([1.0, 2.0, 2.0], [None] * 3)  # type: ignore[assignment]
    trainer.train()
    trainer.progress = dataclasses.replace(trainer.progress, step=0, num_worse=0)
    assert trainer.resume()
    trainer.train()
    assert trainer.progress.step == 3


def test_without_patience_nothing_stops_it(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=4, validate_every=1, patience=0, average=0)
    trainer.validator = scripted([1.0, 2.0, 3.0, 4.0], [None] * 4)  # type: ignore[assignment]
    trainer.train()
    assert trainer.progress.step == 4


def test_stop_finishes_the_step_and_saves_it(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=9)
    trainer.observers = [Recorder(trainer, stop_after=2)]
    trainer.train()
    assert [f.name for f in checkpoints(trainer.run)] == ["step-2"]
    assert checkpoints(trainer.run, "averaged") == []


# ------------------------------------------------------------------------------ what is left behind


def test_only_the_newest_checkpoints_are_kept(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=9, save_every=2, keep=3, average=0)
    trainer.train()
    assert [f.name for f in checkpoints(trainer.run)] == ["step-6", "step-8", "step-9"]


def test_what_a_killed_save_left_is_removed(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=1, average=0)
    (trainer.run / ".step-1.4711.tmp").mkdir()
    trainer.train()
    assert not list(trainer.run.glob(".*"))


def test_averaged_is_the_mean_of_the_newest_checkpoints(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=6, save_every=2, average=2)
    trainer.train()
    every = [load_file(f / "weights.safetensors") for f in checkpoints(trainer.run)[-2:]]
    (folder,) = checkpoints(trainer.run, "averaged")
    averaged = load_file(folder / "weights.safetensors")
    assert folder.name == "averaged-6"
    for name, tensor in averaged.items():
        torch.testing.assert_close(tensor, (every[0][name] + every[1][name]) / 2)
    assert recorder(trainer).messages[0].startswith("averaged the last 2 checkpoints: loss ")


def test_what_a_training_started_from_is_not_averaged(make_trainer: MakeTrainer) -> None:
    first = make_trainer("first", steps=1, average=0)
    first.train()
    trainer = make_trainer(steps=6, save_every=3, keep=5, average=5)
    trainer.start_from(first.run / "step-1")
    trainer.train()
    names = [f.name for f in checkpoints(trainer.run)]
    assert names == ["step-0", "step-3", "step-6"]
    assert recorder(trainer).messages[0].startswith("averaged the last 2 checkpoints: loss ")


def test_averaging_leaves_the_model_as_it_was(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=4, save_every=2, average=2)
    trainer.train()
    last = load_file(trainer.run / "step-4" / "weights.safetensors")
    assert equal(model_tensors(trainer.model), last)


@pytest.mark.parametrize("average", [0, 1])
def test_averaging_can_be_left_out(make_trainer: MakeTrainer, average: int) -> None:
    trainer = make_trainer(steps=4, save_every=2, average=average)
    trainer.train()
    assert checkpoints(trainer.run, "averaged") == []


def test_a_damaged_checkpoint_is_not_averaged(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=6, save_every=2, average=3)
    trainer.observers = [Recorder(trainer, stop_after=5)]
    trainer.train()
    trainer.is_stopping = False
    weights = trainer.run / "step-2" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    trainer.train()
    every = [load_file(trainer.run / f"step-{n}" / "weights.safetensors") for n in (4, 6)]
    averaged = load_file(trainer.run / "averaged-6" / "weights.safetensors")
    for name, tensor in averaged.items():
        torch.testing.assert_close(tensor, (every[0][name] + every[1][name]) / 2)


def test_the_best_folder_holds_the_scores_of_its_validation(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=4, validate_every=2, average=0)
    trainer.train()
    (folder,) = checkpoints(trainer.run, "best")
    assert read_scores(folder) == trainer.progress.best


# ------------------------------------------------------------------------------ damage


def damage(folder: Path) -> None:
    path = folder / "weights.safetensors"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_a_damaged_newest_checkpoint_gives_way_to_the_one_before(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=9, save_every=2, keep=2, average=0)
    trainer.observers = [Recorder(trainer, stop_after=6)]
    trainer.train()
    damage(trainer.run / "step-6")
    warnings: list[str] = []
    assert trainer.resume(warnings.append)
    assert trainer.progress.step == 4
    assert warnings == [
        f"{trainer.run}/step-6: weights.safetensors is damaged (SHA-256 differs from the "
        "manifest); continuing from step-4"
    ]


def test_training_goes_on_past_a_damaged_checkpoint(make_trainer: MakeTrainer) -> None:
    unbroken = make_trainer("unbroken", steps=9, save_every=2, keep=2, average=2)
    unbroken.train()
    trainer = make_trainer("damaged", steps=9, save_every=2, keep=2, average=2)
    trainer.observers = [Recorder(trainer, stop_after=6)]
    trainer.train()
    damage(trainer.run / "step-6")
    trainer.is_stopping = False
    trainer.observers = []
    trainer.resume()
    trainer.train()
    assert [f.name for f in checkpoints(trainer.run)] == ["step-8", "step-9"]
    assert equal(model_tensors(trainer.model), model_tensors(unbroken.model))


def test_a_damaged_checkpoint_does_not_push_an_intact_one_out(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=9, save_every=4, keep=2, average=0)
    trainer.observers = [Recorder(trainer, stop_after=8)]
    trainer.train()
    damage(trainer.run / "step-8")
    trainer.resume()
    trainer.is_stopping = False
    trainer.observers = [Recorder(trainer, stop_after=5)]
    trainer.train()
    assert [f.name for f in checkpoints(trainer.run)] == ["step-4", "step-5"]


def test_nothing_is_resumed_where_all_is_damaged(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=2, save_every=1, average=0)
    trainer.train()
    for folder in checkpoints(trainer.run):
        damage(folder)
    with pytest.raises(ModelFileError, match="every checkpoint is damaged; start another run"):
        trainer.resume()
    assert len(checkpoints(trainer.run)) == 2


def test_a_new_run_has_nothing_to_resume(make_trainer: MakeTrainer) -> None:
    assert not make_trainer().resume()


# ------------------------------------------------------------------------------ observers


def test_observers_are_told_of_every_step_and_validation(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(steps=5, validate_every=2, average=0)
    trainer.train()
    told = recorder(trainer)
    assert [report.step for report in told.steps] == [1, 2, 3, 4, 5]
    assert [scores.step for scores, _ in told.validations] == [2, 4, 5]
    assert sum(report.tokens for report in told.steps) == trainer.progress.tokens
