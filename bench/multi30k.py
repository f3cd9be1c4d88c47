"""What the models kept in results/multi30k/models reach on Multi30k: one table.

    python bench/multi30k.py
    python bench/multi30k.py --json > results/multi30k/scores.json

Each is translated with beam 5 and with the consensus its recipe asks for. Models whose names differ
only in a number at the end are seeds of one recipe: a row has their mean, another what they say
when they vote. Scores are the papers' BLEU with 95 % intervals; for models that translate into
English also sacreBLEU's, lowercased. The corpora are those of `regard data get multi30k`.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from regard.api import load
from regard.data.corpus import read_pairs
from regard.decoding.workers import num_cores
from regard.metrics.bleu import bleu
from regard.metrics.paper import PaperBleu, paper_language
from regard.metrics.scorer import Score, Scorer

MODELS = Path(__file__).parents[1] / "results" / "multi30k" / "models"
SPLITS = ("valid", "test")
SEARCHES: dict[str, dict[str, float]] = {"beam 5": {"beam": 5, "consensus": 0}, "consensus": {}}


class Cell(NamedTuple):
    """A score with half the width of its interval, which a mean of scores does not have."""

    value: float
    half_width: float | None


Row = dict[str, Cell]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", type=Path, default=MODELS, help="a folder of run folders")
    parser.add_argument("--data", type=Path, default=Path("data"), help="has multi30k-en-de, …")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args()
    rows: dict[str, Row] = {}
    for seeds in families(options.models):
        rows |= family_rows(seeds, options.data)
    if options.json:
        print(json.dumps({"command": "python bench/multi30k.py --json", "rows": rows}, indent=2))
    else:
        show(rows)


def families(folder: Path) -> list[list[Path]]:
    """The run folders, seeds of one recipe together: en-de-11 and en-de-12, but not en-fr."""
    found = sorted(path for path in folder.iterdir() if path.is_dir())
    return [list(seeds) for _, seeds in groupby(found, lambda path: direction(path.name))]


def direction(name: str) -> str:
    """What a model translates: en-de for en-de-11."""
    return "-".join(name.split("-")[:2])


def family_rows(seeds: list[Path], data: Path) -> dict[str, Row]:
    """A row for each model and metric; for several models their mean and their vote."""
    name = direction(seeds[0].name)
    corpus = data / f"multi30k-{name}"
    alone = {path.name: translations([path], corpus) for path in seeds}
    vote = translations(seeds, corpus) if len(seeds) > 1 else None
    rows: dict[str, Row] = {}
    for scorer, suffix in scorers(name.partition("-")[2]):
        each = {f"{model}{suffix}": scores(alone[model], corpus, scorer) for model in alone}
        rows |= each
        if vote:
            rows[f"{name}, mean{suffix}"] = mean(list(each.values()))
            rows[f"{name}, all vote{suffix}"] = scores(vote, corpus, scorer)
    return rows


def scorers(target: str) -> Iterator[tuple[Scorer, str]]:
    """The metrics for a target language, and what to call their rows."""
    language = paper_language(target)
    if language:
        yield PaperBleu(language), ""
    if target == "en":
        yield bleu(lowercase=True), ", sacreBLEU lowercased"


def translations(folders: Sequence[Path], corpus: Path) -> dict[tuple[str, str], list[str]]:
    """What a model, or the vote of several, makes of each split by each search."""
    translator = load(folders, device="cpu")
    found = {}
    for split in SPLITS:
        sources = [example.source for example in read_pairs(sides(corpus, split))]
        for search, options in SEARCHES.items():
            print(f"{', '.join(each.name for each in folders)}: {split}, {search}", file=sys.stderr)
            done = translator.translate(sources, align=False, workers=num_cores(), **options)
            found[split, search] = [each.text for each in done]
    return found


def sides(corpus: Path, split: str) -> tuple[Path, Path]:
    """The two files of a split of data/multi30k-en-de."""
    source, target = corpus.name.split("-")[1:]
    return corpus / f"{split}.{source}", corpus / f"{split}.{target}"


def scores(found: dict[tuple[str, str], list[str]], corpus: Path, scorer: Scorer) -> Row:
    """The scores of a model's translations by one metric."""
    row = {}
    for (split, search), texts in found.items():
        references = [example.target for example in read_pairs(sides(corpus, split))]
        row[f"{split}, {search}"] = cell(scorer.score(texts, references))
    return row


def cell(score: Score) -> Cell:
    return Cell(score.value, score.interval.half_width if score.interval else None)


def mean(rows: Sequence[Row]) -> Row:
    """The mean of each column; the interval of a mean over seeds is not that of one seed."""
    return {
        column: Cell(sum(row[column].value for row in rows) / len(rows), None) for column in rows[0]
    }


def show(rows: dict[str, Row]) -> None:
    table = Table("", *next(iter(rows.values())))
    for name, row in rows.items():
        cells = []
        for value, half_width in row.values():
            width = "" if half_width is None else f" ± {half_width:.2f}"
            cells.append(f"{value:.2f}{width}")
        table.add_row(name, *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
