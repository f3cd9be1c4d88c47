"""What a race finds out about one system."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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
        minutes: of training, validations apart.
        flops: of training, by formula: products only, no padding.
        flops_by_time: as the paper estimates it, training time × what the machine sustains.
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
    tokens_per_second: float
    decoded_per_second: float
    by_length: tuple[LengthScore, ...]
    curve: tuple[CurvePoint, ...]
    sentence: str
    translation: str
    words: tuple[str, ...]
    source_words: tuple[str, ...]
    alignment: tuple[tuple[float, ...], ...]

    def save(self, folder: Path) -> None:
        """Write `result.json`, whole or not at all."""
        temporary = folder / f".{RESULT}.tmp"
        text = json.dumps(asdict(self), ensure_ascii=False, indent=2)
        temporary.write_text(text + "\n", "utf-8")
        os.replace(temporary, folder / RESULT)


def read_result(folder: Path) -> Result | None:
    """What an earlier race found out, if it came so far.

    Raises:
        ModelFileError: the file holds anything else.
    """
    path = folder / RESULT
    if not path.exists():
        return None
    try:
        return TypeAdapter(Result).validate_json(read_bounded(path, MAX_BYTES))
    except ValidationError as error:
        raise ModelFileError(
            f"{path}: {error.errors()[0]['msg']}; remove it, and the system is measured again"
        ) from None


def keep(results: Sequence[Any], table: str, folder: Path) -> None:
    """Write what there is, so that a race can be looked at while it runs.

    Args:
        results: of a race or of an experiment, each a dataclass.
        table: of them, in Markdown.
        folder: of `results.json` and `table.md`.
    """
    report = {
        "command": " ".join(["regard", *sys.argv[1:]]),
        "machine": fingerprint(),
        "results": [asdict(result) for result in results],
    }
    text = json.dumps(report, ensure_ascii=False, indent=2)
    (folder / RESULTS).write_text(text + "\n", "utf-8")
    (folder / TABLE).write_text(table, "utf-8")
