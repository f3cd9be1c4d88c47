"""Names beside a chart, none on top of another."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONT_SIZE = 7.5
# Of a line of text to its size, with some air.
SPACING = 1.25
POINTS_AN_INCH = 72
THREAD = {
    "arrowstyle": "-",
    "linewidth": 0.5,
    "alpha": 0.5,
    "shrinkA": 1,
    "shrinkB": 0,
    "relpos": (0, 0.5),
}


def name_at_the_right(axes: "Axes") -> None:
    """Write the label of every line and of every point with an error bar at the right edge.

    A thin thread leads from where the line ends to its name.
    """
    handles, names = axes.get_legend_handles_labels()
    if not handles:
        return
    lines = [_line(handle) for handle in handles]
    ends = np.array([line.get_xydata()[-1] for line in lines])  # N 2
    axes.get_ylim()  # settles the limits, which the transformation depends on
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = np.asarray(to_axes.transform(ends))[:, 1].tolist()
    inches = axes.get_position().height * axes.figure.get_figheight()  # type: ignore[union-attr]
    gap = SPACING * FONT_SIZE / (POINTS_AN_INCH * inches)
    places = spread(heights, gap)
    for line, name, (x, y), place in zip(lines, names, ends.tolist(), places, strict=True):
        colour = line.get_color()
        axes.annotate(
            name,
            (x, y),
            (1.03, place),
            textcoords="axes fraction",
            fontsize=FONT_SIZE,
            color=colour,
            va="center",
            annotation_clip=False,
            arrowprops={**THREAD, "color": colour},
        )


def _line(handle: Any) -> Any:
    """A line, or that of the points between error bars."""
    return handle if hasattr(handle, "get_xydata") else handle[0]


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """The places nearest to those wanted, by squares, that keep their order and a gap.

    With y_i = x_i − i · gap, in order of x, it is the least-squares fit of a sequence that never
    falls: neighbours that do are put at their mean, until none does (Ayer et al. 1955).
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    pools: list[tuple[float, int]] = []  # sum and number of those that lie together
    for rank, i in enumerate(order):
        pool = wanted[i] - rank * gap, 1
        while pools and pools[-1][0] / pools[-1][1] > pool[0] / pool[1]:
            total, number = pools.pop()
            pool = pool[0] + total, pool[1] + number
        pools.append(pool)
    fitted = [total / number for total, number in pools for _ in range(number)]
    places = [0.0] * len(wanted)
    for rank, i in enumerate(order):
        places[i] = fitted[rank] + rank * gap
    return places
