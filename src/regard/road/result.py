"""What a race finds out: about one system, and about all of them."""

import json
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from regard.bounded import read_bounded
from regard.errors import ModelFileError
from regard.machine import fingerprint

RESULT = "result.json"
RESULTS = "results.json"
TABLE = "table.md"
MAX_BYTES = 10_000_000


@dataclass(frozen=True, kw_only=True)
class LengthScore:
    """BLEU on the test sentences of some lengths.

    Attributes:
        longest: the most source words among them.
        sentences: how many there are.
        bleu: on these alone.
    """

    longest: int
    sentences: int
    bleu: float


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """A validation on the way.

    Attributes:
        minutes: of training before it, validations apart.
        step: when.
        loss: −log p a token.
        bleu: of greedy translations.
    """

    minutes: float
    step: int
    loss: float
    bleu: float | None


@dataclass(frozen=True, kw_only=True)
class Result:
    """One row of the table.

    Attributes:
        system: its short name.
        title: as the table says it.
        bleu: on the test set.
        low: where 95 % of the resampled scores begin.
        high: where they end.
        signature: of the score.
        parameters: trainable numbers; of a statistical system, entries of its tables.
        steps: optimiser steps taken.
        minutes: of training, validations apart; of a fine-tuning, those of what it started from
            included, in all three costs.
        flops: of training, by formula: products only, no padding. A translation that is drawn to
            learn from its reward counts as long as its reference.
        flops_by_time: as the paper estimates it, training time × what the machine sustains.
        processor: it was trained on, which `flops_by_time` counts with; where a training or voters
            moved, the last.
        tokens_per_second: target tokens learned from.
        decoded_per_second: target words written, beam search included.
        by_length: BLEU as sentences grow.
        curve: how it learned.
        sentence: that every system is shown on.
        translation: of it.
        words: the translation's words, as the rows of `alignment`.
        source_words: the sentence's, as its columns.
        alignment: how much each written word took from each word read; empty without attention.
    """

    system: str
    title: str
    bleu: float
    low: float
    high: float
    signature: str
    parameters: int
    steps: int
    minutes: float
    flops: float
    flops_by_time: float
    processor: str
    tokens_per_second: float
    decoded_per_second: float
    by_length: tuple[LengthScore, ...]
    curve: tuple[CurvePoint, ...]
    sentence: str
    translation: str
    words: tuple[str, ...]
    source_words: tuple[str, ...]
    alignment: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        shape = [len(self.source_words)] * len(self.words) if self.alignment else []
        if [len(row) for row in self.alignment] != shape:
            raise ValueError("the alignment needs a row a word and a column a source word")
        numbers = (self.bleu, self.low, self.high, self.flops, *chain(*self.alignment))
        if not all(map(math.isfinite, numbers)):
            raise ValueError("expected finite numbers")

    def save(self, folder: Path) -> None:
        """Write `result.json`, whole or not at all."""
        write_kept(folder / RESULT, asdict(self))


@dataclass(frozen=True, kw_only=True)
class Report:
    """A whole race.

    Attributes:
        command: that ran it.
        machine: it ran on.
        task: the corpus and its languages, for people.
        results: of every system measured so far, in the order of the story.
    """

    command: str
    machine: dict[str, Any]
    task: str
    results: tuple[Result, ...]


Kept = TypeVar("Kept")


def read_result(folder: Path) -> Result | None:
    """What an earlier race found out, if it came so far.

    Raises:
        ModelFileError: the file holds anything else.
    """
    path = folder / RESULT
    if not path.exists():
        return None
    return read_kept(path, Result, "remove it, and the system is measured again")


def read_results(folder: Path, systems: Sequence[str]) -> list[Result]:
    """What a race has found out so far about any system.

    Args:
        folder: of the race.
        systems: in the order of the story; ensembles come behind them.

    Raises:
        ModelFileError: a file holds anything else.
    """
    found = [read_result(path.parent) for path in folder.glob(f"*/{RESULT}")]
    known = [result for result in found if result is not None]
    order = {name: place for place, name in enumerate(systems)}
    return sorted(known, key=lambda result: (order.get(result.system, len(order)), result.system))


def read_report(path: Path) -> Report:
    """What a race has found out so far.

    Args:
        path: its folder, or a copy of its `results.json`.

    Raises:
        ModelFileError: there is none, or the file holds anything else.
    """
    if path.is_dir():
        path = path / RESULTS
    return read_kept(path, Report, "expected what `regard road` writes")


def read_kept(path: Path, kind: type[Kept], advice: str) -> Kept:
    """A dataclass from a file of the race.

    Args:
        path: the file.
        kind: the dataclass.
        advice: what to do if it holds anything else.

    Raises:
        ModelFileError: it does, or it is missing.
    """
    try:
        return TypeAdapter(kind).validate_json(read_bounded(path, MAX_BYTES))
    except ValidationError as error:
        raise ModelFileError(f"{path}: {error.errors()[0]['msg']}; {advice}") from None


def write_kept(path: Path, content: dict[str, Any]) -> None:
    """Write a file of the race, whole or not at all."""
    _replace(path, json.dumps(content, ensure_ascii=False, indent=2) + "\n")


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """Write a text of the race, whole or not at all."""
    _replace(path, "".join(f"{line}\n" for line in lines))


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(text, "utf-8")
    os.replace(temporary, path)


def keep(results: Sequence[Any], table: str, folder: Path, task: str) -> None:
    """Write what there is, each file whole or not at all: a race is looked at while it runs.

    Args:
        results: of a race or of an experiment, each a dataclass.
        table: of them, in Markdown.
        folder: of `results.json` and `table.md`.
        task: the corpus and its languages, for people.
    """
    report = {
        "command": " ".join(["regard", *sys.argv[1:]]),
        "machine": fingerprint(),
        "task": task,
        "results": [asdict(result) for result in results],
    }
    write_kept(folder / RESULTS, report)
    _replace(folder / TABLE, table)
