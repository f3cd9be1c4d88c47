"""A training's log, read back."""

import json
from pathlib import Path

import pytest

from regard.errors import ModelFileError
from regard.train.history import read_history
from tests.train.recording import write_log


def write(folder: Path, *lines: str) -> Path:
    (folder / "log.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return folder


def step(number: int, loss: float) -> str:
    fields = {"learning_rate": 0.1, "tokens": 100, "seconds": 0.5}
    return json.dumps({"event": "step", "step": number, "loss": loss, **fields})


def test_a_run_has_its_curves(tmp_path: Path) -> None:
    found = read_history(write_log(tmp_path))
    assert found["steps"]["step"] == list(range(1, 61))
    assert [v["step"] for v in found["validations"]] == [20, 40, 60]
    assert [v["bleu"] for v in found["validations"]] == [10, 20, 30]
    assert found["validations"][1]["translations"][0]["translation"] == "Jane after 40 steps."
    assert found["steps"]["loss"][-1] < found["steps"]["loss"][0]


def test_many_steps_become_few_points_of_the_same_mean(tmp_path: Path) -> None:
    write(tmp_path, *(step(n, float(n)) for n in range(1, 101)))
    found = read_history(tmp_path, max_points=10)["steps"]
    assert found["step"] == list(range(10, 101, 10))
    assert found["loss"] == [n - 4.5 for n in range(10, 101, 10)]
    assert set(found["tokens_per_second"]) == {200.0}


def test_a_line_that_is_not_whole_yet_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, step(1, 2.0), '{"event": "step"}', "[]", "", '{"event": "step", "st')
    assert read_history(tmp_path)["steps"]["step"] == [1]


def test_no_log_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"log\.jsonl: cannot be read"):
        read_history(tmp_path)
