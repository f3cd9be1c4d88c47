"""The program that looks for sentences that depend on their neighbours finds them."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from batch_invariance import CLOSE, compare, translated
from regard.api import Translator

ROOT = Path(__file__).parents[2]
TEXTS = ["Mon ami voit la gare.", "Elle aime l'été.", "Jane visite l'Afrique en septembre."]


def test_a_trained_model_passes(trained_run: Path, tmp_path: Path) -> None:
    (tmp_path / "a.fr").write_text("\n\n".join(TEXTS), "utf-8")
    script = ROOT / "bench" / "batch_invariance.py"
    done = subprocess.run(
        [sys.executable, script, trained_run, tmp_path / "a.fr", "--json"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["sentences"] == len(TEXTS)
    assert [row["size"] for row in report["rows"]] == [2, 256]
    assert all(row["equal"] == len(TEXTS) for row in report["rows"])


def test_what_differs_is_counted(translator: Translator) -> None:
    alone = list(translated(translator, TEXTS, 1))
    swapped = [alone[1], replace(alone[0], score=alone[1].score + CLOSE / 2), alone[2]]
    row = compare(2, alone, swapped)
    assert (row.equal, row.close, row.different) == (1, 1, 1)
    assert row.largest == 0
