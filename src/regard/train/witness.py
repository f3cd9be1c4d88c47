"""What every step of a training depended on and what it gave, written down to be compared.

A step is a function of the weights, the optimiser's memory, the random state and the examples.
Two trainings that agree in these before every step, and in what came of it, are the same
training.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch

from regard.data.batching import Batch
from regard.shapes import Tensor
from regard.train.checkpoint import WEIGHTS, checkpoints, model_tensors, random_state
from regard.train.observer import Shown, StepReport
from regard.train.progress import Scores
from regard.train.trainer import Trainer

# Causes before effects: of several things that differ at a step the first is the one to look at.
THINGS = (
    "order of examples",
    "pieces of examples",
    "losses",
    "validations",
    "weights",
    "moving average",
    "optimiser",
    "random state",
    "early stopping",
    "best and averaged weights",
)


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two trainings part.

    Attributes:
        step: the first at which they differ: in taking it, or after it and before the next.
        thing: in what, one of `THINGS`.
    """

    step: int
    thing: str


@dataclass(slots=True)
class Account:
    """All that is compared of a training: for each thing its value, or a digest, at each step."""

    entries: dict[str, dict[int, str]] = field(
        default_factory=lambda: {thing: {} for thing in THINGS}
    )

    def note(self, thing: str, step: int, value: str) -> None:
        self.entries[thing][step] = value

    def differences(self, other: "Account") -> list[Difference]:
        """For each thing the first step at which it differs, if it does; the earliest first."""
        found = []
        for thing, mine in self.entries.items():
            theirs = other.entries[thing]
            steps = sorted(mine.keys() | theirs.keys())
            differing = (step for step in steps if mine.get(step) != theirs.get(step))
            found += [Difference(step, thing) for step in differing][:1]
        return sorted(found, key=lambda difference: difference.step)


class Witness(Trainer):
    """A trainer that writes down an account of each step, and is its own observer.

    Args:
        trainer: what to do as: its model and data are used, its optimiser is built anew.
        account: where to write; that of the part before, if this is a later part of a training.
        stop_after: the step to stop after, as if asked to.
    """

    def __init__(self, trainer: Trainer, account: Account, stop_after: int | None = None) -> None:
        super().__init__(
            trainer.model,
            trainer.batches,
            trainer.validator,
            trainer.config,
            trainer.run,
            [*trainer.observers, self],
        )
        self.account = account
        self.stop_after = stop_after

    def train(self) -> None:
        """Train, and note what is left at the end."""
        super().train()
        if not self.is_stopping:
            self._note_state()
            self._note_kept_weights()

    def step(self, batches: Sequence[Batch]) -> StepReport:
        """Note what the step depends on, and take it."""
        self._note_state()
        step, note = self.progress.step + 1, self.account.note
        note("order of examples", step, _digest(batch.indices.tobytes() for batch in batches))
        sides = [side for b in batches for side in (b.source, b.target_in, b.target_out)]
        note("pieces of examples", step, _digest(side.tobytes() for side in sides))
        return super().step(batches)

    def on_step(self, report: StepReport) -> None:
        self.account.note("losses", report.step, f"{report.loss!r} {report.nll!r}")
        if report.step == self.stop_after:
            self.stop()

    def on_validation(self, scores: Scores, shown: list[Shown], is_best: bool) -> None:
        self.account.note("validations", scores.step, f"{scores!r} {is_best}")

    def on_message(self, line: str) -> None:
        pass

    def _note_state(self) -> None:
        """What the next step will depend on; the examples come with it."""
        progress, note = self.progress, self.account.note
        note("weights", progress.step, _digest_tensors(model_tensors(self.model)))
        if self.averaged is not None:
            note("moving average", progress.step, _digest_tensors(model_tensors(self.averaged)))
        note("optimiser", progress.step, _digest_tensors(self.optimiser.tensors()))
        note("random state", progress.step, _digest_tensors(random_state()))
        note("early stopping", progress.step, f"{progress.best} {progress.num_worse}")

    def _note_kept_weights(self) -> None:
        kept = [*checkpoints(self.run, "best"), *checkpoints(self.run, "averaged")]
        names = " ".join(folder.name for folder in kept)
        files = _digest((folder / WEIGHTS).read_bytes() for folder in kept)
        self.account.note("best and averaged weights", self.progress.step, f"{names} {files}")


def _digest_tensors(tensors: dict[str, Tensor]) -> str:
    """A digest that does not depend on the order in which the tensors were made or read."""
    parts = [b"\n".join(name.encode() for name in sorted(tensors))]
    for name in sorted(tensors):
        flat = tensors[name].reshape(-1).view(torch.uint8)
        parts.append(flat.cpu().numpy().tobytes())
    return _digest(parts)


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
