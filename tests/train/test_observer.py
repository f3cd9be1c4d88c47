"""Who is told what happens in a training."""

import builtins
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from regard.errors import ConfigError, ModelFileError
from regard.train.config import TrainConfig
from regard.train.console import ConsoleObserver, duration
from regard.train.observer import JsonLog, Shown, StepReport, TensorBoard
from regard.train.progress import Progress, Scores

SHOWN = Shown("Où ?", "Where?", "W\u2028here\x85?")


def report(step: int) -> StepReport:
    return StepReport(
        step=step,
        epoch=0,
        loss=2.5,
        nll=2.0,
        learning_rate=1e-3,
        gradient_norm=0.5,
        tokens=100,
        seconds=0.5,
        busy=0.4,
    )


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]


def write_log(path: Path, first: int, last: int) -> None:
    log = JsonLog(path, first)
    if first:
        log.on_message("a line")  # about the step resumed from, told again
    for step in range(first + 1, last + 1):
        log.on_step(report(step))
        log.on_validation(Scores(step, 1.5, 20.0), [SHOWN], is_best=True)
        log.on_message("a line")
    log.close()


# ------------------------------------------------------------------------------ log.jsonl


def test_the_log_has_one_object_a_line_with_the_event_first(tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl", 0, 1)
    step, validation, message = events(tmp_path / "log.jsonl")
    assert all(next(iter(event)) == "event" for event in (step, validation, message))
    assert step["event"] == "step" and step["nll"] == 2.0
    assert validation["bleu"] == 20.0 and validation["is_best"] is True
    assert validation["translations"] == [
        {"source": "Où ?", "reference": "Where?", "translation": "W\u2028here\x85?"}
    ]
    assert message == {"event": "message", "step": 1, "text": "a line"}


def test_a_log_opened_at_a_step_forgets_what_came_after(tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl", 0, 5)
    write_log(tmp_path / "log.jsonl", 3, 6)
    write_log(tmp_path / "unbroken.jsonl", 0, 6)
    assert events(tmp_path / "log.jsonl") == events(tmp_path / "unbroken.jsonl")


@pytest.mark.parametrize("broken", [b'{"event": "st', '{"event": "é'.encode()[:-1], b"[]", b"7"])
def test_a_line_that_a_crash_cut_off_is_forgotten(tmp_path: Path, broken: bytes) -> None:
    path = tmp_path / "log.jsonl"
    write_log(path, 0, 2)
    whole = events(path)[:-1]  # without the message, which will come again
    path.write_bytes(path.read_bytes() + broken)
    JsonLog(path, 2).close()
    assert events(path) == whole


def test_a_line_is_on_disk_as_soon_as_it_is_told(tmp_path: Path) -> None:
    log = JsonLog(tmp_path / "log.jsonl", 0)
    log.on_step(report(1))
    assert len(events(tmp_path / "log.jsonl")) == 1
    log.close()


def test_a_log_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"log.jsonl cannot be written \(No such file or dir"):
        JsonLog(tmp_path / "absent" / "log.jsonl", 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's")
def test_a_full_disk_is_one_line_that_names_the_log(tmp_path: Path) -> None:
    log = JsonLog(tmp_path / "log.jsonl", 0)
    log._file.close()
    log._file = open("/dev/full", "ab", buffering=0)  # noqa: SIM115
    with pytest.raises(ModelFileError, match=r"log.jsonl cannot be written \(No space left on dev"):
        log.on_step(report(1))
    log.close()


# ------------------------------------------------------------------------------ TensorBoard


def test_tensorboard_gets_every_number_once(tmp_path: Path) -> None:
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    for first, last in ((0, 3), (2, 4)):
        board = TensorBoard(tmp_path, first)
        for step in range(first + 1, last + 1):
            board.on_step(report(step))
            board.on_validation(Scores(step, 1.5, 20.0), [], is_best=True)
        board.on_validation(Scores(last, 1.5), [], is_best=False)
        board.on_message("nothing to draw")
        board.close()
    found = accumulators.EventAccumulator(str(tmp_path))
    found.Reload()
    assert set(found.Tags()["scalars"]) == {
        "train/loss",
        "train/nll",
        "train/learning_rate",
        "train/gradient_norm",
        "train/tokens_per_second",
        "valid/loss",
        "valid/bleu",
    }
    assert [event.step for event in found.Scalars("train/loss")] == [1, 2, 3, 4]
    assert found.Scalars("train/tokens_per_second")[0].value == 200.0


def test_a_missing_tensorboard_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("torch.utils.tensorboard"):
            raise ImportError
        return real_import(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match=r"pip install 'regard\[tensorboard\]'"):
        TensorBoard(tmp_path, 0)


# ------------------------------------------------------------------------------ terminal


def test_the_terminal_shows_validations_as_plain_text() -> None:
    console = Console(record=True, width=200, force_terminal=False)
    with ConsoleObserver(console, TrainConfig(steps=10), Progress()) as observer:
        observer.on_step(report(1))
        observer.on_validation(Scores(1, 1.5, 20.0), [Shown("[b]x", "y", "[/b]z")], is_best=True)
        observer.on_validation(Scores(2, 1.5), [], is_best=False)
        observer.on_message("[red]not markup")
    lines = console.export_text().splitlines()
    assert lines == [
        "step 1  validation: loss 1.500, perplexity 4.48, BLEU 20.0  best so far",
        "    [b]x → [/b]z",
        "step 2  validation: loss 1.500, perplexity 4.48",
        "[red]not markup",
    ]


def test_without_a_terminal_a_line_comes_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.train.console.LINE_EVERY", -1.0)
    console = Console(record=True, width=200, force_terminal=False)
    with ConsoleObserver(console, TrainConfig(steps=1000), Progress()) as observer:
        observer.on_step(report(1))
    assert console.export_text() == "step 1/1,000  loss 2.000  200 tokens/s\n"


def test_where_minutes_end_a_training_it_is_measured_in_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("regard.train.console.LINE_EVERY", -1.0)
    console = Console(record=True, width=200, force_terminal=False)
    config, progress = TrainConfig(steps=1000, minutes=30.0), Progress(step=7, seconds=89.5)
    with ConsoleObserver(console, config, progress) as observer:
        observer.on_step(report(8))
    assert console.export_text() == "1.5 of 30 min, step 8  loss 2.000  200 tokens/s\n"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "0 s"), (89.0, "89 s"), (91.0, "2 min"), (5340.0, "89 min"), (5400.0, "1 h 30 min")],
)
def test_durations_are_said_as_people_do(seconds: float, said: str) -> None:
    assert duration(seconds) == said
