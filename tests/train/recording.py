"""Observers that remember, and what a training left behind, to be compared."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from regard.build import Run, build_trainer, create_run, open_run
from regard.config import RunConfig
from regard.data.batching import Batch
from regard.shapes import Tensor
from regard.text.config import TextConfig
from regard.train.checkpoint import model_tensors
from regard.train.observer import JsonLog, Shown, StepReport
from regard.train.progress import Scores
from regard.train.trainer import Trainer
from tests.little_corpus import little_run, write_corpus

MakeTrainer = Callable[..., Trainer]


@dataclass
class Recorder:
    """Remembers everything; asks the trainer to stop after a step, if told to."""

    trainer: Trainer | None = None
    stop_after: int | None = None
    steps: list[StepReport] = field(default_factory=list)
    validations: list[tuple[Scores, bool]] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)

    def on_step(self, report: StepReport) -> None:
        self.steps.append(report)
        if report.step == self.stop_after:
            assert self.trainer is not None
            self.trainer.stop()

    def on_validation(self, scores: Scores, shown: list[Shown], is_best: bool) -> None:
        self.validations.append((scores, is_best))
        self.shown += shown

    def on_message(self, line: str) -> None:
        self.messages.append(line)


@dataclass
class Trained:
    """All that two trainings can be compared by, wall-clock time apart."""

    trainer: Trainer
    batches: list[list[int]] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)

    @property
    def tensors(self) -> dict[str, Tensor]:
        model, optimiser = self.trainer.model, self.trainer.optimiser
        return model_tensors(model) | optimiser.tensors()

    @property
    def progress(self) -> dict[str, Any]:
        return dataclasses.asdict(self.trainer.progress) | {"seconds": None}

    @property
    def files(self) -> dict[str, dict[str, Tensor]]:
        """The weights of every checkpoint on disk."""
        return {f.parent.name: load_file(f) for f in sorted(self.trainer.run.glob("*/weights.*"))}

    @property
    def log(self) -> list[dict[str, Any]]:
        lines = (self.trainer.run / "log.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line) | {"seconds": None, "busy": None} for line in lines]


def everything_random(place: Path, **train: Any) -> RunConfig:
    """Every dropout, accumulation, BPE-dropout, noise, early stopping; epochs end midway."""
    settings: dict[str, Any] = {
        "steps": 12,
        "accumulate": 2,
        "validate_every": 4,
        "validate_bleu": False,
        "show": 0,
        "patience": 20,
        "save_every": 2,
        "keep": 4,
        "average": 3,
        "warmup": 4,
    }
    config = little_run(write_corpus(place), **settings | train)
    model = dataclasses.replace(
        config.model, d_model=16, d_ff=16, dropout=0.2, dropout_attention=0.1, dropout_ff=0.1
    )
    text = TextConfig(vocab_size=340, sampling=0.1)
    data = dataclasses.replace(config.data, noise=0.3)
    return dataclasses.replace(config, data=data, model=model, text=text)


def train_once(run: Run, trained: Trained | None = None, stop_after: int | None = None) -> Trained:
    """One process's part of a training: resume if there is something, go on, perhaps stop."""
    trainer = build_trainer(run)
    trainer.resume()
    result = Trained(trainer)
    if trained is not None:
        result.batches, result.losses = trained.batches, trained.losses
    unspied = trainer.step

    def spied(batches: Sequence[Batch]) -> StepReport:
        result.batches += [batch.indices.tolist() for batch in batches]
        return unspied(batches)

    trainer.step = spied  # type: ignore[method-assign]
    recorder = Recorder(trainer, stop_after)
    log = JsonLog(run.folder / "log.jsonl", trainer.progress.step)
    trainer.observers += [log, recorder]
    try:
        trainer.train()
    finally:
        log.close()
    result.losses += [report.loss for report in recorder.steps]
    return result


def train_in_parts(folder: Path, config: RunConfig, stops: Sequence[int] = ()) -> Trained:
    """A training interrupted after the given steps, each part with objects of its own."""
    create_run(folder, config)
    trained = None
    for stop in [*stops, None]:
        # What a new process would find is nothing of what this one leaves in memory.
        torch.manual_seed(stop or 0)
        trained = train_once(open_run(folder), trained, stop)
    assert trained is not None
    return trained


def resumes_on_two_cores(place: Path, config: RunConfig) -> bool:
    """Whether a training whose batches are cut among two cores goes on bit for bit."""
    num_threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        unbroken = train_in_parts(place / "unbroken", config)
        resumed = train_in_parts(place / "resumed", config, stops=[5])
    finally:
        torch.set_num_threads(num_threads)
    assert unbroken.trainer.is_cut_among_cores
    return resumed.losses == unbroken.losses and equal(resumed.tensors, unbroken.tensors)


def equal(left: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    """Bit for bit."""
    return left.keys() == right.keys() and all(torch.equal(left[k], right[k]) for k in left)


def write_log(folder: Path, steps: int = 60) -> Path:
    """A log as a training leaves it: a validation every 20 steps."""
    log = JsonLog(folder / "log.jsonl", 0)
    for step in range(1, steps + 1):
        log.on_step(StepReport(step, 0, 8 / step, 7 / step, 1e-3, 1.0, 400, 0.1, 0.1))
        if step % 20 == 0:
            shown = [Shown("Jane voit.", "Jane sees.", f"Jane after {step} steps.")]
            log.on_validation(Scores(step, 6 / step, step / 2), shown, True)
    log.close()
    return folder


def recorder(trainer: Trainer) -> Recorder:
    (found,) = trainer.observers
    assert isinstance(found, Recorder)
    return found
