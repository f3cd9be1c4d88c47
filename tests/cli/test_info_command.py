"""`regard info`, as it is typed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.api import load
from regard.cli.app import main
from regard.cli.info import describe


@pytest.fixture
def copied(run_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run_folder, tmp_path / "run"))


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "fact",
    [
        "version 1",
        "fr → en",
        "transformer: 2 + 2 layers, 3 heads, d_model 24, d_ff 32",
        "bpe, 300 pieces, joint",
        "40 of 50 steps, 3 epochs, 12,345 target tokens",
        "10 min",
        "beam 4, length penalty 1.0",
        "best-20      3.250  12.5",
        "averaged-40  3.125  13.5",
        "step-40          –     –",
    ],
)
def test_the_tables_show(run_folder: Path, capsys: pytest.CaptureFixture[str], fact: str) -> None:
    assert main(["info", str(run_folder)]) == 0
    assert fact in capsys.readouterr().out


def test_json_has_what_a_program_needs(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", str(run_folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["is_whole"] is True
    assert [c["name"] for c in found["checkpoints"]] == ["best-20", "averaged-40", "step-40"]
    assert found["model"]["d_model"] == 24


def test_parameters_are_those_of_the_loaded_model(run_folder: Path) -> None:
    model = load(run_folder, device="cpu").models[0]
    assert describe(run_folder).parameters == model.num_parameters()


def test_the_better_of_best_and_averaged_is_the_one_used(run_folder: Path) -> None:
    used = [c.name for c in describe(run_folder).checkpoints if c.is_used]
    assert used == ["averaged-40"]


def test_the_size_is_that_of_all_files(copied: Path) -> None:
    before = describe(copied).bytes
    (copied / "log.jsonl").write_bytes(b"x" * 1000)
    assert describe(copied).bytes == before + 1000


def test_a_damaged_checkpoint_is_named_and_the_exit_code_tells(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(copied / "averaged-40" / "weights.safetensors")
    assert main(["info", str(copied), "--json"]) == 1
    checkpoints = json.loads(capsys.readouterr().out)["checkpoints"]
    reasons = {c["name"]: c["damage"] for c in checkpoints if c["damage"]}
    assert reasons == {
        "averaged-40": "weights.safetensors is damaged (SHA-256 differs from the manifest)"
    }


def test_the_table_names_the_damage(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(copied / "step-40" / "progress.json")
    assert main(["info", str(copied)]) == 1
    assert "progress.json is damaged" in " ".join(capsys.readouterr().out.split())


def test_a_run_without_checkpoints_has_taken_no_steps(copied: Path) -> None:
    for path in [*copied.glob("*-[0-9]*")]:
        shutil.rmtree(path)
    found = describe(copied)
    assert (found.steps, found.checkpoints, found.is_whole) == (0, (), True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda run: shutil.rmtree(run), "no such run folder; `regard train` makes one"),
        (lambda run: (run / "manifest.json").unlink(), "no manifest.json; this is not a run"),
        (lambda run: damage(run / "run.toml"), "run.toml is damaged"),
    ],
    ids=["absent", "not a run", "damaged"],
)
def test_what_is_no_run_folder_is_said_in_one_line(
    copied: Path,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[Path], None],
    message: str,
) -> None:
    change(copied)
    assert main(["info", str(copied)]) == 2
    complaint = capsys.readouterr().err
    assert message in complaint
    assert complaint.count("\n") == 1
