"""Validation: right numbers, no trace."""

import math
from pathlib import Path

import pytest
import torch

from regard.build import build_trainer, create_run, open_run
from regard.shapes import Tensor
from regard.train.checkpoint import model_tensors
from regard.train.loss import label_smoothed_loss
from regard.train.progress import Progress, Scores
from regard.train.tensors import TensorBatch
from regard.train.trainer import Trainer
from tests.little_corpus import little_run, write_corpus
from tests.train.recording import equal


@pytest.fixture(scope="module")
def trainer(trained_run: Path) -> Trainer:
    trainer = build_trainer(open_run(trained_run))
    trainer.resume()
    return trainer


def test_the_loss_is_that_of_the_formula(trainer: Trainer) -> None:
    total, num_tokens = torch.zeros(()), 0
    model = trainer.model.eval()
    for batch in trainer.validator.batches.in_order():
        tensors = TensorBatch.of(batch, "cpu")
        memory = model.encode(tensors.source, tensors.source_mask)
        logits = model.output(model.decode(memory, tensors.target_in, tensors.target_mask))
        real: Tensor = tensors.target_mask
        total = total + label_smoothed_loss(logits[real], tensors.target_out[real], 0.0).nll
        num_tokens += int(real.sum())
    scores, _ = trainer.validator(model, 5)
    assert scores.loss == pytest.approx(float(total) / num_tokens, rel=1e-5)
    assert scores.step == 5


def test_validation_leaves_no_trace(trainer: Trainer) -> None:
    trainer.model.train()
    before = {name: tensor.clone() for name, tensor in model_tensors(trainer.model).items()}
    random_state = torch.get_rng_state()
    trainer.validator(trainer.model, 1)
    assert trainer.model.training
    assert torch.equal(torch.get_rng_state(), random_state)
    assert equal(model_tensors(trainer.model), before)


def test_so_many_translations_are_shown_as_asked_for(trainer: Trainer) -> None:
    _, shown = trainer.validator(trainer.model, 1)
    assert len(shown) == trainer.config.show == 1
    example = trainer.validator.examples[0]
    assert (shown[0].source, shown[0].reference) == (example.source, example.target)


def test_without_bleu_only_the_shown_are_translated(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer.validator, "scorer", None)
    scores, shown = trainer.validator(trainer.model, 1)
    assert scores.bleu is None
    assert len(shown) == 1


def test_bleu_is_a_hundred_where_every_translation_is_right(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    references = [example.target for example in trainer.validator.examples]
    monkeypatch.setattr(trainer.validator, "_translate", lambda model, examples: references)
    scores, _ = trainer.validator(trainer.model, 1)
    assert scores.bleu == pytest.approx(100.0)


@pytest.mark.parametrize(("paper_bleu", "expected"), [(True, 100.0), (False, 0.0)])
def test_the_papers_bleu_knows_no_case(tmp_path: Path, paper_bleu: bool, expected: float) -> None:
    config = little_run(write_corpus(tmp_path), paper_bleu=paper_bleu)
    trainer = build_trainer(create_run(tmp_path / "run", config))
    spoken = [example.target.upper() for example in trainer.validator.examples]
    trainer.validator._translate = lambda model, examples: spoken  # type: ignore[method-assign]
    scores, _ = trainer.validator(trainer.model, 1)
    assert scores.bleu == pytest.approx(expected, abs=2.0)


# ------------------------------------------------------------------------------ scores


def test_the_first_validation_is_the_best_so_far() -> None:
    assert Scores(1, math.inf).is_better_than(None, "loss")


@pytest.mark.parametrize(
    ("stop_on", "new", "old", "is_better"),
    [
        ("loss", Scores(2, 1.0, 1.0), Scores(1, 2.0, 2.0), True),
        ("loss", Scores(2, 2.0, 3.0), Scores(1, 2.0, 2.0), False),
        ("bleu", Scores(2, 1.0, 1.0), Scores(1, 2.0, 2.0), False),
        ("bleu", Scores(2, 3.0, 3.0), Scores(1, 2.0, 2.0), True),
    ],
)
def test_better_is_lower_loss_or_higher_bleu(
    stop_on: str, new: Scores, old: Scores, is_better: bool
) -> None:
    assert new.is_better_than(old, stop_on) == is_better


def test_progress_remembers_the_best_and_counts_the_worse() -> None:
    progress = Progress()
    found = [progress.note(Scores(n, loss), "loss") for n, loss in enumerate([3.0, 2.0, 2.5, 2.2])]
    assert found == [True, True, False, False]
    assert progress.best == Scores(1, 2.0)
    assert progress.num_worse == 2
