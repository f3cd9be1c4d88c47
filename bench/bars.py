"""Bars of tokens a second, with their spread: one panel for each thing that was measured."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

OURS, THEIRS = "#c2410c", "#94a3b8"


def draw_bars(panels: Mapping[str, Sequence[dict[str, Any]]], path: Path, *, unit: str) -> None:
    """Draw a benchmark.

    Args:
        panels: titles, each with its rows: the same systems in the same order.
        path: of the picture.
        unit: what the bars count.
    """
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(panels), figsize=(3.3 * len(panels), 3.1), layout="constrained", squeeze=False
    )
    for axis, (title, rows) in zip(axes[0], panels.items(), strict=True):
        speeds = [row["tokens_per_second"] for row in rows]
        medians = [speed["median"] for speed in speeds]
        around = [
            [speed["median"] - speed["low"] for speed in speeds],
            [speed["high"] - speed["median"] for speed in speeds],
        ]
        colours = [OURS if row["system"].startswith("regard") else THEIRS for row in rows]
        axis.barh([row["system"] for row in rows], medians, xerr=around, color=colours)
        axis.invert_yaxis()
        axis.set_title(title)
        axis.set_xlabel(unit)
        axis.spines[["top", "right"]].set_visible(False)
        if axis is not axes[0][0]:
            axis.set_yticklabels([])
    figure.savefig(path, dpi=150)
