"""A training's log read back: its curves, thin enough to be drawn, and its translations."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.errors import ModelFileError

MAX_POINTS = 500
MAX_BYTES = 200_000_000
MAX_TRANSLATIONS = 20
NEEDED = ("step", "loss", "learning_rate", "tokens", "seconds")


def read_history(folder: Path, *, max_points: int = MAX_POINTS) -> dict[str, Any]:
    """What `log.jsonl` of a run folder says, as plain lists.

    A run may be in progress: a last line that is not whole yet is left out.

    Args:
        folder: the run folder.
        max_points: steps of the curves; where there are more, each point is the mean of several.

    Returns:
        {"steps": {"step", "loss", "learning_rate", "tokens_per_second"}, each a list;
        "validations": [{"step", "loss", "bleu", "is_best", "translations"}]}

    Raises:
        ModelFileError: there is no log, or it is larger than any we write.
    """
    path = folder / "log.jsonl"
    steps: list[dict[str, Any]] = []
    validations: list[dict[str, Any]] = []
    for event in read_events(path):
        match event.get("event"):
            case "step" if all(isinstance(event.get(name), int | float) for name in NEEDED):
                steps.append(event)
            case "validation":
                shown = event.get("translations", [])[:MAX_TRANSLATIONS]
                names = ("step", "loss", "bleu", "is_best")
                validations.append({**{n: event.get(n) for n in names}, "translations": shown})
    return {"steps": _thinned(steps, max_points), "validations": validations}


def _thinned(steps: list[dict[str, Any]], max_points: int) -> dict[str, Any]:
    """Means over neighbouring steps; a point stands at the last of its steps."""
    size = max(1, -(-len(steps) // max_points))
    parts = [steps[first : first + size] for first in range(0, len(steps), size)]

    def mean(name: str) -> list[float]:
        return [sum(step[name] for step in part) / len(part) for part in parts]

    return {
        "step": [part[-1]["step"] for part in parts],
        "loss": mean("loss"),
        "learning_rate": mean("learning_rate"),
        "tokens_per_second": [
            sum(step["tokens"] for step in part) / max(sum(step["seconds"] for step in part), 1e-9)
            for part in parts
        ],
    }


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a `log.jsonl`, in order; a last line that a crash cut off is no event.

    Raises:
        ModelFileError: it cannot be read, or is larger than any log of ours.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ModelFileError(f"{path}: larger than {MAX_BYTES:,} bytes; no log of ours is")
        with path.open(encoding="utf-8", errors="replace", newline="\n") as lines:
            for line in lines:
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                if isinstance(event, dict):
                    yield event
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read ({error.strerror})") from None
