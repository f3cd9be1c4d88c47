"""`regard road --experiment`: the claims of the lectures, put to the test."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from regard.errors import DivergedError
from regard.road.experiments import data, gradient, length
from regard.road.result import RESULTS, keep
from regard.road.table import Grid, markdown_of, terminal_of
from regard.road.track import Track


@dataclass(frozen=True, slots=True)
class Experiment:
    """What every experiment answers.

    Attributes:
        question: above its table.
        run: finds one point after the other.
        table: of the points so far.
        draw: a picture of them, into a folder.
    """

    question: str
    run: Callable[[Track], Iterator[Any]]
    table: Callable[[Sequence[Any]], Grid]
    draw: Callable[[Sequence[Any], Path], Path]


EXPERIMENTS: Mapping[str, Experiment] = {
    "data": Experiment("BLEU and training pairs", data.run, data.table, data.draw),
    "length": Experiment(
        "BLEU beyond the lengths of training", length.run, length.table, length.draw
    ),
    "gradient": Experiment(
        "Gradient at a distance, that of the nearest input = 1",
        gradient.run,
        gradient.table,
        gradient.draw,
    ),
}


def run_experiment(name: str, track: Track, console: Console, *, is_json: bool) -> None:
    """Run an experiment to its end; its folder always shows what is known so far.

    Raises:
        DivergedError: every system was left out.
        Stopped: a signal came.
    """
    experiment = EXPERIMENTS[name]
    points = []
    for point in experiment.run(track):
        points.append(point)
        grid = experiment.table(points)
        keep(points, markdown_of(grid), track.out, experiment.question)
    if not points:
        raise DivergedError("no system is left to draw")
    console.print(f"picture: {experiment.draw(points, track.out)}", highlight=False)
    if is_json:
        print((track.out / RESULTS).read_text("utf-8"), end="")
    else:
        Console().print(terminal_of(grid, experiment.question))
