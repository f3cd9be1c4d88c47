"""The table of the kept models: seeds of one recipe are averaged, and vote."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import multi30k
from multi30k import Cell, families, family_rows, mean

ROOT = Path(__file__).parents[2]


def test_seeds_of_a_direction_belong_together(tmp_path: Path) -> None:
    for name in ("en-fr", "en-de-12", "de-en", "en-de-11"):
        (tmp_path / name).mkdir()
    (tmp_path / "scores.json").touch()
    names = [[path.name for path in seeds] for seeds in families(tmp_path)]
    assert names == [["de-en"], ["en-de-11", "en-de-12"], ["en-fr"]]


def test_a_mean_has_no_interval() -> None:
    rows = [{"test": Cell(40.0, 1.5)}, {"test": Cell(41.0, 1.6)}]
    assert mean(rows) == {"test": Cell(40.5, None)}


def test_each_seed_translates_alone_and_then_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def translations(folders: Sequence[Path], corpus: Path) -> dict[tuple[str, str], list[str]]:
        asked.append([folder.name for folder in folders])
        return {}

    monkeypatch.setattr(multi30k, "translations", translations)
    family_rows([Path("en-de-1"), Path("en-de-2")], Path("data"))
    assert asked == [["en-de-1"], ["en-de-2"], ["en-de-1", "en-de-2"]]


def test_two_that_agree_vote_as_each_of_them(trained_run: Path, tmp_path: Path) -> None:
    for name in ("fr-en-1", "fr-en-2"):
        shutil.copytree(trained_run, tmp_path / "models" / name)
    corpus = tmp_path / "multi30k-fr-en"
    corpus.mkdir()
    for split in ("valid", "test"):
        (corpus / f"{split}.fr").write_text("Mon ami voit la gare.\nElle aime l'été.\n", "utf-8")
        (corpus / f"{split}.en").write_text("My friend sees the station.\nShe runs.\n", "utf-8")
    script = ROOT / "bench" / "multi30k.py"
    done = subprocess.run(
        [sys.executable, script, "--models", tmp_path / "models", "--data", tmp_path, "--json"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    suffix = ", sacreBLEU lowercased"
    assert set(rows) == {
        f"{name}{metric}"
        for name in ("fr-en-1", "fr-en-2", "fr-en, mean", "fr-en, all vote")
        for metric in ("", suffix)
    }
    for column, (value, _) in rows["fr-en-1"].items():
        assert rows["fr-en, all vote"][column][0] == pytest.approx(value)
        assert rows["fr-en, mean"][column][0] == pytest.approx(value)
