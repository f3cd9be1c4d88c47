"""Who is told what happens in a training: the terminal, a log file, TensorBoard."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from regard.errors import ConfigError, ModelFileError
from regard.train.progress import Scores


@dataclass(frozen=True, slots=True)
class StepReport:
    """One optimiser step.

    Attributes:
        step: its number, from 1.
        epoch: the pass over the data it belongs to, from 0.
        loss: the smoothed loss a token.
        nll: −log p a token.
        learning_rate: what it used.
        gradient_norm: before clipping.
        tokens: target tokens it learned from.
        seconds: what it took.
        busy: the same in processor time of the busiest core (`Trainer.busy`).
    """

    step: int
    epoch: int
    loss: float
    nll: float
    learning_rate: float
    gradient_norm: float
    tokens: int
    seconds: float
    busy: float


@dataclass(frozen=True, slots=True)
class Shown:
    """One translation of the validation set, to look at."""

    source: str
    reference: str
    translation: str


@runtime_checkable
class Observer(Protocol):
    """Told of everything, returns nothing, changes nothing."""

    def on_step(self, report: StepReport) -> None:
        """After each optimiser step."""
        ...

    def on_validation(self, scores: Scores, shown: list[Shown], is_best: bool) -> None:
        """After each validation."""
        ...

    def on_message(self, line: str) -> None:
        """Whatever else a person should know."""
        ...


class JsonLog:
    """`log.jsonl`: one object a line, `event` first.

    Opened at a step, it forgets what was logged after that step, so that a resumed run has
    the log of an uninterrupted one. Messages of the step itself came after its checkpoint and
    will come again.

    Raises:
        ModelFileError: the log cannot be written.
    """

    def __init__(self, path: Path, step: int) -> None:
        self._path = path
        self._step = step
        with self._writing():
            kept = []
            if path.exists():
                # Not splitlines: a translation may hold U+2028 and other ends of lines.
                lines = path.read_text("utf-8", errors="replace").split("\n")
                kept = [line for line in lines if _moment_of(line) < (step, _AFTER_SAVING)]
            temporary = path.with_suffix(".tmp")
            temporary.write_text("".join(line + "\n" for line in kept), "utf-8")
            os.replace(temporary, path)
            # Unbuffered: a line is on its way to the disk, whole, before training goes on.
            self._file = path.open("ab", buffering=0)

    def on_step(self, report: StepReport) -> None:
        self._step = report.step
        self._write("step", asdict(report))

    def on_validation(self, scores: Scores, shown: list[Shown], is_best: bool) -> None:
        translations = [asdict(example) for example in shown]
        self._write(
            "validation", {**asdict(scores), "is_best": is_best, "translations": translations}
        )

    def on_message(self, line: str) -> None:
        self._write("message", {"step": self._step, "text": line})

    def close(self) -> None:
        self._file.close()

    def _write(self, event: str, fields: dict[str, object]) -> None:
        with self._writing():
            line = json.dumps({"event": event, **fields}, ensure_ascii=False) + "\n"
            rest = line.encode()
            while rest:  # a disk that is almost full takes a part
                rest = rest[self._file.write(rest) :]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ModelFileError(
                f"{self._path} cannot be written ({error.strerror}); make room, then --resume"
            ) from error


_BEFORE_SAVING, _AFTER_SAVING = range(2)


def _moment_of(line: str) -> tuple[float, int]:
    """The step of a log line and its side of the checkpoint; what a crash cut off has no end."""
    try:
        event = json.loads(line)
        is_late = event["event"] == "message"
        return float(event["step"]), _AFTER_SAVING if is_late else _BEFORE_SAVING
    except (ValueError, KeyError, TypeError):
        return float("inf"), _AFTER_SAVING


class TensorBoard:
    """The same numbers as TensorBoard events; opened at a step, those after it are hidden."""

    def __init__(self, folder: Path, step: int) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise ConfigError(
                "train.tensorboard = true needs TensorBoard; pip install 'regard[tensorboard]'"
            ) from None
        self._writer = SummaryWriter(str(folder), purge_step=step + 1)

    def on_step(self, report: StepReport) -> None:
        for name in ("loss", "nll", "learning_rate", "gradient_norm"):
            self._add(f"train/{name}", getattr(report, name), report.step)
        self._add("train/tokens_per_second", report.tokens / report.seconds, report.step)

    def on_validation(self, scores: Scores, shown: list[Shown], is_best: bool) -> None:
        self._add("valid/loss", scores.loss, scores.step)
        if scores.bleu is not None:
            self._add("valid/bleu", scores.bleu, scores.step)

    def on_message(self, line: str) -> None:
        pass

    def close(self) -> None:
        self._writer.close()

    def _add(self, name: str, value: float, step: int) -> None:
        self._writer.add_scalar(name, value, step)
