"""A race as pictures: quality against cost, against length, against time."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import ConfigError
from regard.road.labels import FONT_SIZE, name_at_the_right
from regard.road.result import Result
from regard.road.systems import SYSTEMS, VOTERS
from regard.road.table import power

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FAMILIES = {
    "counts": ("dictionary", "phrases"),
    "recurrent": ("rnn", "gru", "lstm"),
    "recurrent with attention": ("bahdanau", "luong", "deep-att", "gnmt"),
    "convolutional": ("bytenet", "convs2s"),
}
COLOURS = {
    "counts": "#64748b",
    "recurrent": "#2563eb",
    "recurrent with attention": "#0f766e",
    "convolutional": "#7c3aed",
    "Transformer": "#c2410c",
    "ensembles": "#be185d",
}
# BLEU on fewer sentences says more about the sentences than about the system.
FEWEST = 50
MARKERS = "os^Dv"
DASHES = ("-", "--", "-.", ":")
INK = "#1b2233"


def family_of(name: str) -> str:
    """What kind of system a name belongs to."""
    if VOTERS in name:
        return "ensembles"
    for family, beginnings in FAMILIES.items():
        if name.startswith(beginnings):
            return family
    return "Transformer"


def colour_of(name: str) -> str:
    """The colour of a system, that of its family."""
    return COLOURS[family_of(name)]


def mark_of(name: str) -> str:
    """The mark of a system; neighbours in a family have different ones."""
    return MARKERS[_rank(name) % len(MARKERS)]


def dash_of(name: str) -> str:
    """How the line of a system is drawn, by the same rule."""
    return DASHES[_rank(name) % len(DASHES)]


def _rank(name: str) -> int:
    """The place of a system among those of its family."""
    family = [each.name for each in SYSTEMS if family_of(each.name) == family_of(name)]
    return family.index(name) if name in family else 0


def draw(results: Sequence[Result], folder: Path) -> list[Path]:
    """Draw every chart into a folder; return the files.

    Raises:
        ConfigError: matplotlib is missing.
    """
    charts: dict[str, Callable[["Axes", Sequence[Result]], None]] = {
        "bleu-flops.png": _by_flops,
        "bleu-length.png": partial(by_length, fewest=FEWEST),
        "learning-curves.png": _curves,
    }
    ablations = {system.name for system in SYSTEMS if system.is_ablation}
    systems = [result for result in results if result.system not in ablations]
    varied = [result for result in results if result.system in ablations]
    paths = []
    for name, chart in charts.items():
        with panels_of(folder / name, 2 if varied else 1) as panels:
            chart(panels[0], systems)
            if varied:
                chart(panels[1], varied)
                panels[1].set_title("Transformer, one thing changed; half the budget")
        paths.append(folder / name)
    return paths


def draw_alignments(results: Sequence[Result], folder: Path) -> list[Path]:
    """For each system that can tell, how its words came from those of the one sentence."""
    import torch

    from regard.lens.plot import heat_map

    paths = []
    for result in results:
        if not result.alignment:
            continue
        path = folder / f"alignment-{result.system}.png"
        heat_map(
            torch.tensor(result.alignment), result.words, result.source_words, path, result.title
        )
        paths.append(path)
    return paths


def _by_flops(axes: "Axes", results: Sequence[Result]) -> None:
    trained = [result for result in results if result.flops]
    for result in trained:
        axes.errorbar(
            result.flops,
            result.bleu,
            yerr=[[result.bleu - result.low], [result.high - result.bleu]],
            fmt=mark_of(result.system),
            markersize=4,
            elinewidth=1,
            color=colour_of(result.system),
            capsize=2,
            label=result.system,
        )
    for result in results:
        if not result.flops:
            axes.axhline(result.bleu, color=COLOURS["counts"], linewidth=0.8, linestyle=":")
            axes.annotate(
                result.system,
                (0.01, result.bleu),
                xycoords=("axes fraction", "data"),
                fontsize=FONT_SIZE,
                color=COLOURS["counts"],
                va="bottom",
            )
    if trained:
        axes.set_xscale("log")
        ticks = round_numbers([result.flops for result in trained])
        axes.set_xticks(ticks, [power(tick, digits=0) for tick in ticks])
        axes.set_xticks([], minor=True)
        axes.set_xlim(ticks[0], ticks[-1])
    axes.set(xlabel="operations of training, by formula", ylabel="BLEU on the test set")


def round_numbers(values: Sequence[float]) -> list[float]:
    """1, 2, 3, 5, 10 … from the last below all positive values to the first above them.

    1, 10, 100 … where they lie a decade apart and more.
    """
    low, high = (math.floor(math.log10(value)) for value in (min(values), max(values)))
    digits = (1, 2, 3, 5) if max(values) < 10 * min(values) else (1,)
    grid = [digit * 10.0**place for place in range(low - 1, high + 2) for digit in digits]
    first = max(number for number in grid if number < min(values))
    last = min(number for number in grid if number > max(values))
    return [number for number in grid if first <= number <= last]


def by_length(axes: "Axes", results: Sequence[Result], fewest: int = 1) -> None:
    """BLEU of sentences of like length, and below each length how many there are.

    Args:
        axes: to draw on.
        results: a line for each.
        fewest: sentences that a point needs.
    """
    groups = [[each for each in r.by_length if each.sentences >= fewest] for r in results]
    for result, group in zip(results, groups, strict=True):
        line(axes, result.system, [(float(each.longest), each.bleu) for each in group])
    sentences = {each.longest: each.sentences for group in groups for each in group}
    ticks = [f"{longest}\n({count:,})" for longest, count in sentences.items()]
    axes.set_xticks(list(sentences), ticks)
    axes.set(xlabel="words in the source sentence, at most (sentences)", ylabel="BLEU")


def _curves(axes: "Axes", results: Sequence[Result]) -> None:
    for result in results:
        points = [(point.minutes, point.bleu) for point in result.curve if point.bleu is not None]
        line(axes, result.system, points)
    axes.set(xlabel="minutes of training", ylabel="BLEU on the validation set, greedy")


def line(
    axes: "Axes", system: str, points: Sequence[tuple[float, float]], style: str | None = None
) -> None:
    """A line in the colour of its system, with the system's name; in its own style unless given."""
    if not points:
        return
    axes.plot(
        *zip(*points, strict=True),
        style or mark_of(system) + dash_of(system),
        markersize=2.5,
        linewidth=1.2,
        color=colour_of(system),
        label=system,
    )


@contextmanager
def axes_of(path: Path) -> "Iterator[Axes]":
    """Axes to draw on; on leaving, a file."""
    with panels_of(path, 1) as (axes,):
        yield axes


@contextmanager
def panels_of(path: Path, number: int) -> "Iterator[list[Axes]]":
    """Axes side by side, the first one widest; on leaving, a file."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigError(f"{path} needs matplotlib; pip install 'regard[plot]'") from None
    figure = Figure(figsize=(4.0 + 4.0 * number, 5.0), layout="constrained")
    ratios = [3, *[2] * (number - 1)]
    (panels,) = figure.subplots(1, number, squeeze=False, width_ratios=ratios)
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=INK)
    yield list(panels)
    for axes in panels:
        axes.title.set(fontsize="medium", color=INK)
        name_at_the_right(axes)
    figure.savefig(path, dpi=150)
