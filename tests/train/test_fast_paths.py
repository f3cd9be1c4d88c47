"""The fast paths learn what the plain formulas learn."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from regard.build import build_trainer, create_run
from regard.plain import plain
from tests.little_corpus import little_run, write_corpus
from tests.train.recording import Recorder

STEPS = 200


def losses(folder: Path, corpus: tuple[Path, Path], *, is_plain: bool) -> list[float]:
    """The losses of a training with nothing random in it but its beginning."""
    config = little_run(corpus, steps=STEPS, learning_rate=2e-3, validate_bleu=False)
    config = replace(config, model=replace(config.model, dropout=0.0))
    recorder = Recorder()
    with plain() if is_plain else nullcontext():
        trainer = build_trainer(create_run(folder, config))
        trainer.observers.append(recorder)
        trainer.train()
    return [report.loss for report in recorder.steps]


def test_two_hundred_steps_give_the_same_losses(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path)
    fast = losses(tmp_path / "fast", corpus, is_plain=False)
    slow = losses(tmp_path / "plain", corpus, is_plain=True)
    assert len(fast) == STEPS
    assert fast[-1] < fast[0] / 2  # it learned, so there was something to differ in
    assert fast == pytest.approx(slow, rel=1e-3)
