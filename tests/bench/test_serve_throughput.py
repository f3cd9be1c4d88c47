"""The benchmark of the server measures: both sides answer, and nothing is left running."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_both_sides_are_measured(trained_run: Path) -> None:
    script = ROOT / "bench" / "serve_throughput.py"
    arguments = ["--model", str(trained_run), "--rounds", "1", "--requests", "1", "--json"]
    done = subprocess.run(
        [sys.executable, str(script), *arguments], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert set(report["sentences_per_second"]) == {"offline", "served"}
    assert report["ratios"]["served.offline"] > 0
    assert 0 < report["client_share"] < 1
