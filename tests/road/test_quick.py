"""`regard road --quick`: the whole story in minutes."""

import json
from pathlib import Path

import pytest

from regard.cli.app import main
from regard.cli.road import QUICK_MINUTES
from regard.road.race import ABLATION
from regard.road.systems import SYSTEMS

# Of the quarter of an hour that a quick race may take, so much is training; the rest is
# validating, translating and drawing.
TRAINING = 6.0


@pytest.mark.slow
def test_a_quick_race_has_every_system(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "road"
    assert main(["road", "--quick", "--json", "--out", str(out)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report == json.loads((out / "results.json").read_text("utf-8"))
    results = report["results"]
    assert [result["system"] for result in results] == [system.name for system in SYSTEMS]
    assert all(result["sentence"] == results[0]["sentence"] for result in results)
    table, translations = (out / "table.md").read_text("utf-8").strip().split("\n\n")
    assert table.count("\n") == translations.count("\n") == len(SYSTEMS) + 1
    for chart in ("bleu-flops", "bleu-length", "learning-curves"):
        assert (out / f"{chart}.png").stat().st_size > 1000
    aligned = {result["system"] for result in results if result["alignment"]}
    assert {"phrases", "bahdanau", "convs2s", "transformer"} <= aligned
    assert {path.stem.removeprefix("alignment-") for path in out.glob("alignment-*")} == aligned


def test_training_is_less_than_half_of_a_quick_race() -> None:
    learned = [system for system in SYSTEMS if system.kind == "learned"]
    shares = [ABLATION if system.is_ablation else 1.0 for system in learned]
    assert QUICK_MINUTES * sum(shares) < TRAINING
