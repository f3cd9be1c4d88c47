"""Minutes to a quality are those of the steps before the first validation that has it."""

import json
from pathlib import Path

import pytest

from time_to_quality import curve_of, draw, times_to


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Steps of a minute each, validated at every second; step 3 was taken twice."""
    numbers = [1, 2, 3, 3, 4, 5, 6]
    events = [{"event": "step", "step": n, "seconds": 60.0} for n in numbers]
    scores = {2: 20.0, 4: 31.0, 6: 36.0}
    events += [{"event": "validation", "step": n, "bleu": bleu} for n, bleu in scores.items()]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, events)) + "\n", "utf-8")
    return tmp_path


def test_a_curve_has_a_point_for_every_validation(run: Path, tmp_path: Path) -> None:
    curve = curve_of(run)
    assert curve == [(2.0, 20.0), (4.0, 31.0), (6.0, 36.0)]
    draw({"run": curve}, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_what_was_not_reached_has_no_time(run: Path) -> None:
    assert times_to(curve_of(run), [30.0, 36.0, 40.0]) == {"30": 4.0, "36": 6.0, "40": None}
