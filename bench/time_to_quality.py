"""How long a training took to each quality, from the log that it kept.

    python bench/time_to_quality.py runs/multi30k-en-de
    python bench/time_to_quality.py runs/multi30k-en-de --marks 30 38 --out curve.png

Quality is the BLEU of the validations (`train.paper_bleu` says which); time is that of the steps
before them, the validations apart.
"""

import argparse
import json
from pathlib import Path
from typing import NamedTuple

from regard.train.history import read_events

MARKS = (30.0, 35.0, 38.0, 40.0)


class Point(NamedTuple):
    """A validation: when it was, and what it found."""

    minutes: float
    bleu: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", type=Path, nargs="+", help="a run folder")
    parser.add_argument("--marks", type=float, nargs="+", default=MARKS, help="BLEU to reach")
    parser.add_argument("--out", type=Path, help="a picture of the curves")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    curves = {folder.name: curve_of(folder) for folder in options.run}
    reached = {name: times_to(curve, options.marks) for name, curve in curves.items()}
    if options.out:
        draw(curves, options.out)
    if options.json:
        print(json.dumps({"minutes_to": reached, "curves": curves}, indent=2))
        return
    print("run".ljust(30), *(f"BLEU {mark:g}".rjust(9) for mark in options.marks))
    for name, times in reached.items():
        cells = ["–" if minutes is None else f"{minutes:.1f} min" for minutes in times.values()]
        print(name.ljust(30), *(cell.rjust(9) for cell in cells))


def curve_of(folder: Path) -> list[Point]:
    """The validations of a run with BLEU, in order."""
    seconds: dict[int, float] = {}
    bleu: dict[int, float] = {}
    for event in read_events(folder / "log.jsonl"):
        # A resumed training takes again the steps after its last checkpoint: the last one counts.
        if event.get("event") == "step":
            seconds[event["step"]] = event["seconds"]
        elif event.get("event") == "validation" and event.get("bleu") is not None:
            bleu[event["step"]] = event["bleu"]
    curve, spent, done = [], 0.0, 0
    for step in sorted(bleu):
        spent += sum(seconds.get(each, 0.0) for each in range(done + 1, step + 1))
        done = step
        curve.append(Point(spent / 60, bleu[step]))
    return curve


def times_to(curve: list[Point], marks: list[float]) -> dict[str, float | None]:
    """For each mark, the minutes of the first validation that reached it."""
    return {
        f"{mark:g}": next((minutes for minutes, bleu in curve if bleu >= mark), None)
        for mark in marks
    }


def draw(curves: dict[str, list[Point]], path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for name, curve in curves.items():
        axes.plot(*zip(*curve, strict=True), marker=".", label=name)
    axes.set(xlabel="minutes of training", ylabel="BLEU on validation")
    axes.grid(color="#e2e8f0")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main()
