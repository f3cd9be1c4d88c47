"""A training as a person sees it in a terminal."""

import time
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from regard.train.config import TrainConfig
from regard.train.estimate import estimate
from regard.train.observer import Shown, StepReport
from regard.train.progress import Progress as Place
from regard.train.progress import Scores
from regard.train.trainer import Trainer

# Seconds between lines where there is no terminal to draw a bar in.
LINE_EVERY = 30.0
# How much of the past the shown loss and speed remember.
MEMORY = 0.95


class ConsoleObserver:
    """A live bar with loss, speed and remaining time; a line for each validation.

    Where the output is not a terminal, a plain line now and then instead of the bar.
    """

    def __init__(self, console: Console, config: TrainConfig, progress: Place) -> None:
        self._console = console
        self._config = config
        self._spent = progress
        self._loss: float | None = None
        self._speed = 0.0
        self._last_line = time.monotonic()
        self._progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            TextColumn("loss {task.fields[loss]} · {task.fields[speed]} tokens/s"),
            TimeElapsedColumn(),
            TextColumn("· left"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        place = self._place(progress.step)
        self._task = self._progress.add_task(place, total=1.0, loss="–", speed="–")
        self._progress.update(self._task, completed=self._share(progress.step))

    def __enter__(self) -> "ConsoleObserver":
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def on_step(self, report: StepReport) -> None:
        speed = report.tokens / report.seconds
        if self._loss is None:
            self._loss, self._speed = report.nll, speed
        self._loss += (1 - MEMORY) * (report.nll - self._loss)
        self._speed += (1 - MEMORY) * (speed - self._speed)
        loss, shown_speed = f"{self._loss:.3f}", f"{self._speed:,.0f}"
        place = self._place(report.step)
        self._progress.update(
            self._task,
            description=place,
            completed=self._share(report.step),
            loss=loss,
            speed=shown_speed,
        )
        if not self._console.is_terminal and time.monotonic() - self._last_line > LINE_EVERY:
            self._last_line = time.monotonic()
            self._print(f"{place}  loss {loss}  {shown_speed} tokens/s")

    def on_validation(self, scores: Scores, shown: list[Shown], is_best: bool) -> None:
        mark = "  [green]best so far[/]" if is_best else ""
        self._print(f"[bold]step {scores.step:,}[/]  validation: {scores.summary()}{mark}")
        for example in shown:
            self._print(
                f"    {escape(example.source)} [dim]→[/] [cyan]{escape(example.translation)}[/]"
            )

    def on_message(self, line: str) -> None:
        self._print(escape(line))

    def _place(self, step: int) -> str:
        """How far it has come, in what ends it."""
        if self._config.minutes:
            return f"{self._spent.seconds / 60:.1f} of {self._config.minutes:g} min, step {step:,}"
        return f"step {step:,}/{self._config.steps:,}"

    def _share(self, step: int) -> float:
        """The same as a number up to 1."""
        minutes = self._config.minutes
        by_time = self._spent.seconds / (60 * minutes) if minutes else 0.0
        return min(1.0, max(by_time, step / self._config.steps))

    def _print(self, line: str) -> None:
        self._progress.console.print(line, highlight=False, soft_wrap=True)


def announce(console: Console, folder: Path, trainer: Trainer) -> None:
    """Say what is about to be trained, and what it will take."""
    config, progress = trainer.config, trainer.progress
    expected = estimate(trainer)
    left = expected.seconds * (1 - progress.step / config.steps)
    if config.minutes:
        left = min(left, 60 * config.minutes - progress.seconds)
    console.print(
        f"[bold]{escape(str(folder))}[/]: {trainer.model.num_parameters():,} parameters, "
        f"{trainer.batches.num_examples:,} pairs"
        + (
            f" ({trainer.batches.num_left_out:,} longer than train.max_length left out)"
            if trainer.batches.num_left_out
            else ""
        ),
        highlight=False,
    )
    console.print(
        f"estimate: {duration(max(left, 0))} for "
        f"{round(left / expected.seconds * config.steps):,} steps of {config.batch_tokens:,}"
        f" tokens, {expected.memory / 2**30:.1f} GiB of memory",
        highlight=False,
    )


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"
