"""A race as pictures: quality against cost, against length, against time."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import ConfigError
from regard.road.result import Result

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
    "recurrent": "#b45309",
    "recurrent with attention": "#0f766e",
    "convolutional": "#7c3aed",
    "Transformer": "#c2410c",
}
INK = "#1b2233"


def family_of(name: str) -> str:
    """What kind of system a name belongs to."""
    for family, beginnings in FAMILIES.items():
        if name.startswith(beginnings):
            return family
    return "Transformer"


def draw(results: Sequence[Result], folder: Path) -> list[Path]:
    """Draw every chart into a folder; return the files.

    Raises:
        ConfigError: matplotlib is missing.
    """
    charts: dict[str, Callable[["Axes", Sequence[Result]], None]] = {
        "bleu-flops.png": _by_flops,
        "bleu-length.png": by_length,
        "learning-curves.png": _curves,
    }
    paths = []
    for name, chart in charts.items():
        with axes_of(folder / name) as axes:
            chart(axes, results)
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
        colour = COLOURS[family_of(result.system)]
        axes.errorbar(
            result.flops,
            result.bleu,
            yerr=[[result.bleu - result.low], [result.high - result.bleu]],
            fmt="o",
            color=colour,
            capsize=2,
        )
        axes.annotate(
            result.system,
            (result.flops, result.bleu),
            (5, 3),
            textcoords="offset points",
            fontsize=7,
            color=colour,
        )
    for result in results:
        if not result.flops:
            axes.axhline(result.bleu, color=COLOURS["counts"], linewidth=0.8, linestyle=":")
            axes.annotate(
                result.system,
                (0.01, result.bleu),
                xycoords=("axes fraction", "data"),
                fontsize=7,
                color=COLOURS["counts"],
                va="bottom",
            )
    if trained:
        axes.set_xscale("log")
    axes.set(xlabel="operations of training, by formula", ylabel="BLEU on the test set")


def by_length(axes: "Axes", results: Sequence[Result]) -> None:
    """BLEU of sentences of like length."""
    for result in results:
        points = [(float(point.longest), point.bleu) for point in result.by_length]
        line(axes, result.system, points)
    axes.set(xlabel="words in the source sentence, at most", ylabel="BLEU")


def _curves(axes: "Axes", results: Sequence[Result]) -> None:
    for result in results:
        points = [(point.minutes, point.bleu) for point in result.curve if point.bleu is not None]
        line(axes, result.system, points)
    axes.set(xlabel="minutes of training", ylabel="BLEU on the validation set, greedy")


def line(
    axes: "Axes", system: str, points: Sequence[tuple[float, float]], style: str = "o-"
) -> None:
    """A line in the colour of its system, with the system's name at its end."""
    if not points:
        return
    colour = COLOURS[family_of(system)]
    axes.plot(*zip(*points, strict=True), style, markersize=2.5, linewidth=1.2, color=colour)
    axes.annotate(
        system,
        points[-1],
        (4, 0),
        textcoords="offset points",
        fontsize=7,
        color=colour,
        va="center",
    )


@contextmanager
def axes_of(path: Path) -> "Iterator[Axes]":
    """Axes to draw on; on leaving, a file."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigError(f"{path} needs matplotlib; pip install 'regard[plot]'") from None
    figure = Figure(figsize=(8.0, 5.0), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK)
    yield axes
    figure.savefig(path, dpi=150)
