"""Does attention need more data? BLEU against the number of training pairs.

The lectures claim that a network of attention alone, which is told nothing of neighbourhood and
little of order, needs more pairs than a recurrent or a convolutional one, and wins with enough of
them. Koehn & Knowles 2017, section 3.2, draw such curves for phrases and recurrent networks. Here
each system learns from a thirty-second of the corpus, a sixteenth, … all of it. A smaller part is
contained in every larger one; vocabulary, validation set, test set, warm-up, dropout and the most
that may be spent are the same for all, so that only what is learned from changes.

    out/NUMBER/corpus/        that many pairs
    out/NUMBER/NAME/          a system that learned from them, as a race keeps it
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from regard.data.corpus import Splits
from regard.data.phrasebook import phrasebook
from regard.road.charts import axes_of, colour_of, line
from regard.road.corpus import RaceCorpus
from regard.road.result import Result
from regard.road.table import NONE, Grid
from regard.road.terms import Tables
from regard.road.track import Track

# Counts; a recurrent network without attention and with it, a convolutional one with it, and
# nothing but attention.
SYSTEMS = ("phrases", "gru", "bahdanau", "convs2s", "transformer")
# A small part of a corpus is known by heart after a few hundred steps: the best of them is looked
# for often, by all systems alike, and who has not been better for long stops.
TRAINING: Tables = {
    "train": {"warmup": 300, "validate_every": 100, "save_every": 100, "patience": 20}
}
HALVINGS = 5
SEED = 0
CHART = "bleu-pairs.png"


@dataclass(frozen=True, kw_only=True)
class DataPoint:
    """A system after learning from a part of the corpus.

    Attributes:
        pairs: that it learned from.
        result: what the race found out.
    """

    pairs: int
    result: Result


def run(track: Track) -> Iterator[DataPoint]:
    """Race the systems on every part of the corpus, the smallest first.

    Raises:
        Stopped: a signal came.
    """
    systems = track.systems(SYSTEMS)
    track = replace(track, overrides={**TRAINING, **track.overrides})
    whole = track.race_on(phrasebook)
    tokenisers = whole.tokenisers
    pairs = whole.corpus.examples("train")
    for size in sizes(len(pairs)):
        part = part_of(whole.corpus, size, track.out / str(size) / "corpus")
        race = track.race(part, str(size), tokenisers)
        for system in systems:
            result = track.attempt(race, system, f", {size:,} of {len(pairs):,} pairs")
            if result is not None:
                yield DataPoint(pairs=size, result=result)


def sizes(total: int) -> list[int]:
    """A thirty-second, …, a half, all; each once."""
    return sorted({max(1, total >> halving) for halving in range(HALVINGS + 1)})


def part_of(corpus: RaceCorpus, size: int, folder: Path) -> RaceCorpus:
    """So many pairs of a corpus, drawn at random, with its validation and test set."""

    def draw() -> Splits:
        pairs = corpus.examples("train")
        # A file may be sorted. One order for every size: its beginnings contain one another.
        random.Random(SEED).shuffle(pairs)
        return Splits(pairs[:size], corpus.examples("valid"), corpus.examples("test"))

    part = RaceCorpus(folder, corpus.source, corpus.target)
    part.write(draw)
    return part


def table(points: Sequence[DataPoint]) -> Grid:
    """A row for each number of pairs, a column for each system."""
    titles = list(dict.fromkeys(point.result.title for point in points))
    cells = {(point.pairs, point.result.title): point.result for point in points}
    rows = [
        (f"{pairs:,}", *(_cell(cells.get((pairs, title))) for title in titles))
        for pairs in dict.fromkeys(point.pairs for point in points)
    ]
    return [("pairs", *titles), *rows]


def _cell(result: Result | None) -> str:
    return NONE if result is None else f"{result.bleu:.1f} ± {(result.high - result.low) / 2:.1f}"


def draw(points: Sequence[DataPoint], folder: Path) -> Path:
    """The curves with their intervals; each time the pairs double is a step of the same width."""
    path = folder / CHART
    with axes_of(path) as axes:
        for system in dict.fromkeys(point.result.system for point in points):
            own = [point for point in points if point.result.system == system]
            results = [point.result for point in own]
            line(axes, system, [(float(point.pairs), point.result.bleu) for point in own])
            axes.fill_between(
                [point.pairs for point in own],
                [result.low for result in results],
                [result.high for result in results],
                color=colour_of(system),
                alpha=0.1,
                linewidth=0,
            )
        axes.set_xscale("log", base=2)
        numbers = sorted({point.pairs for point in points})
        axes.set_xticks(numbers, [f"{number:,}" for number in numbers])
        axes.set(xlabel="training pairs", ylabel="BLEU on the test set")
    return path
