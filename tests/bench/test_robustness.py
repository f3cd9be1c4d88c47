"""The table of robustness has a row for every noise."""

import json
import subprocess
import sys
from pathlib import Path

from regard.data.noise import KINDS

ROOT = Path(__file__).parents[2]


def test_every_noise_has_a_row(trained_run: Path, tmp_path: Path) -> None:
    (tmp_path / "a.fr").write_text("Mon ami voit la gare.\nElle aime l'été.\n", "utf-8")
    (tmp_path / "a.en").write_text("My friend sees the station.\nShe likes summer.\n", "utf-8")
    script = ROOT / "bench" / "robustness.py"
    done = subprocess.run(
        [sys.executable, script, trained_run, tmp_path / "a.fr", tmp_path / "a.en", "--json"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert list(report["rows"]) == ["as it is", *KINDS, "int8"]
    assert all(0 <= scores["BLEU"]["value"] <= 100 for scores in report["rows"].values())
