"""Checkpoints: what goes in comes out, and what does not fit is named."""

import errno
import json
import os
import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from regard.build import build_model, open_run
from regard.errors import ModelFileError
from regard.machine import fingerprint
from regard.models.interface import Seq2Seq
from regard.sealed import sealing, verify
from regard.train.checkpoint import (
    MACHINE,
    STATE,
    WEIGHTS,
    average_weights,
    checkpoints,
    load_weights,
    machine_changes,
    model_tensors,
    newest_checkpoint,
    read_scores,
    restore_checkpoint,
    save_checkpoint,
    save_weights,
)
from regard.train.config import TrainConfig
from regard.train.optimiser import Adam, build_optimiser
from regard.train.progress import Progress, Scores
from tests.train.recording import equal


def stepped(seed: int) -> tuple[nn.Linear, Adam]:
    """A small model whose optimiser has taken a step."""
    torch.manual_seed(seed)
    model = nn.Linear(3, 2)
    optimiser = build_optimiser(model, TrainConfig())
    model(torch.randn(4, 3)).square().sum().backward()
    optimiser.step(0.1)
    return model, optimiser


def test_everything_comes_back(tmp_path: Path) -> None:
    model, optimiser = stepped(1)
    progress = Progress(step=7, epoch=2, batch=3, tokens=9, seconds=0.1, best_step=5, best_loss=1.5)
    folder = save_checkpoint(tmp_path, model, optimiser, progress)
    expected = torch.rand(5)
    other, other_optimiser = stepped(2)
    found = restore_checkpoint(folder, other, other_optimiser)
    assert found == progress
    assert torch.equal(torch.rand(5), expected)
    assert equal(model_tensors(other), model_tensors(model))
    left, right = optimiser.tensors(), other_optimiser.tensors()
    assert equal(left, right)
    assert len(left) == 5  # the step, and two moments of weight and bias


def test_a_checkpoint_before_the_first_step_comes_back(tmp_path: Path) -> None:
    model = nn.Linear(3, 2)
    folder = save_checkpoint(tmp_path, model, build_optimiser(model, TrainConfig()), Progress())
    assert restore_checkpoint(folder, *stepped(2)) == Progress()


def test_an_existing_checkpoint_is_never_replaced(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, *stepped(1), Progress(step=7))
    with pytest.raises(ModelFileError, match="step-7 exists already"):
        save_checkpoint(tmp_path, *stepped(2), Progress(step=7))
    verify(tmp_path / "step-7")


def test_a_full_disk_is_one_line_and_leaves_the_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_checkpoint(tmp_path, *stepped(1), Progress(step=7))

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("regard.sealed.os.fsync", fail)
    with pytest.raises(ModelFileError, match=r"step-8 cannot be written \(No space left on device"):
        save_checkpoint(tmp_path, *stepped(1), Progress(step=8))
    assert os.listdir(tmp_path) == ["step-7"]
    verify(tmp_path / "step-7")


def test_safetensors_own_trouble_with_the_disk_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.train.checkpoint.WEIGHTS", "absent/weights.safetensors")
    with pytest.raises(ModelFileError, match="step-8 cannot be written"):
        save_checkpoint(tmp_path, *stepped(1), Progress(step=8))
    assert os.listdir(tmp_path) == []


def test_scores_come_back(tmp_path: Path) -> None:
    model, _ = stepped(1)
    save_weights(tmp_path / "best-3", model_tensors(model), Scores(3, 1.25, None))
    assert read_scores(tmp_path / "best-3") == Scores(3, 1.25, None)


def test_checkpoints_are_ordered_by_number(tmp_path: Path) -> None:
    for name in ("step-9", "step-100", "step-20", "step-x", "best-50", "step-7.old"):
        (tmp_path / name).mkdir()
    assert [f.name for f in checkpoints(tmp_path)] == ["step-9", "step-20", "step-100"]


def test_a_half_removed_checkpoint_is_passed_over(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, *stepped(1), Progress(step=7))
    (tmp_path / "step-8").mkdir()
    warnings: list[str] = []
    assert newest_checkpoint(tmp_path, warn=warnings.append) == tmp_path / "step-7"
    assert warnings == [
        f"{tmp_path}/step-8: no manifest.json; this is not a run folder; continuing from step-7"
    ]


def test_shared_tensors_are_written_once(trained_run: Path) -> None:
    names = load_file(trained_run / "step-60" / WEIGHTS).keys()
    assert "source.embedding.weight" in names
    assert not {"output.weight", "target.embedding.weight"} & set(names)


def test_the_mean_keeps_the_kind_of_number(tmp_path: Path) -> None:
    for number, value in enumerate((1, 3)):
        tensors = {"w": torch.full((2,), float(value)), "n": torch.tensor(value)}
        save_weights(tmp_path / f"step-{number}", tensors, Scores(number, 0.0))
    mean = average_weights(checkpoints(tmp_path))
    assert mean["w"].tolist() == [2.0, 2.0] and mean["w"].dtype == torch.float32
    assert mean["n"].item() == 2 and mean["n"].dtype == torch.int64


# ------------------------------------------------------------------------------ the machine


def test_a_checkpoint_knows_its_machine(tmp_path: Path) -> None:
    model, optimiser = stepped(1)
    folder = save_checkpoint(tmp_path, model, optimiser, Progress(step=7))
    machine = json.loads((folder / MACHINE).read_text("utf-8"))
    assert machine == fingerprint() | {"device": "cpu"}
    assert machine.keys() >= {"threads", "instruction_set", "torch"}
    assert machine_changes(folder, model) == []


@pytest.mark.parametrize(
    ("item", "now"), [("threads", 99), ("instruction_set", "AVX9"), ("torch", "3.0")]
)
def test_each_change_of_the_machine_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, item: str, now: str | int
) -> None:
    model, optimiser = stepped(1)
    folder = save_checkpoint(tmp_path, model, optimiser, Progress(step=7))
    before = fingerprint()
    monkeypatch.setattr("regard.train.checkpoint.fingerprint", lambda: before | {item: now})
    assert machine_changes(folder, model) == [f"{item} was {before[item]}, is {now}"]


def test_a_checkpoint_that_does_not_know_its_machine_may_differ_in_everything(
    tmp_path: Path,
) -> None:
    model, optimiser = stepped(1)
    folder = save_checkpoint(tmp_path, model, optimiser, Progress(step=7))
    (folder / MACHINE).unlink()
    assert "device was unknown, is cpu" in machine_changes(folder, model)


def test_the_random_state_of_a_device_that_is_not_here_is_passed_over(tmp_path: Path) -> None:
    model, optimiser = stepped(1)
    folder = save_checkpoint(tmp_path, model, optimiser, Progress(step=7))
    state = load_file(folder / STATE)
    state["random/cuda99"] = torch.zeros(16, dtype=torch.uint8)
    save_file(state, folder / STATE)
    assert restore_checkpoint(folder, *stepped(2)) == Progress(step=7)


# ------------------------------------------------------------------------------ what does not fit


@pytest.fixture
def model(trained_run: Path) -> Seq2Seq[object]:
    run = open_run(trained_run)
    return build_model(run.config.model, run.tokenisers)


def replaced_weights(folder: Path, content: bytes) -> Path:
    with sealing(folder) as temporary:
        (temporary / WEIGHTS).write_bytes(content)
    return folder


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff" * 100, pickle.dumps({"a": [1]}), (2**62).to_bytes(8, "little") + b"{}"],
    ids=["empty", "noise", "pickle", "huge header"],
)
def test_what_is_not_safetensors_is_refused(
    tmp_path: Path, model: Seq2Seq[object], content: bytes
) -> None:
    folder = replaced_weights(tmp_path / "step-1", content)
    with pytest.raises(ModelFileError, match="not a readable safetensors file"):
        load_weights(model, folder)


def test_a_tensor_of_another_shape_is_named(
    tmp_path: Path, trained_run: Path, model: Seq2Seq[object]
) -> None:
    tensors = load_file(trained_run / "step-60" / WEIGHTS)
    tensors["source.embedding.weight"] = torch.zeros(3, 5)
    (tmp_path / "x").mkdir()
    save_file(tensors, tmp_path / "x" / WEIGHTS)
    before = {name: tensor.clone() for name, tensor in model_tensors(model).items()}
    with pytest.raises(ModelFileError, match=r"'source.embedding.weight' has shape \[3, 5\], run"):
        load_weights(model, tmp_path / "x")
    assert equal(model_tensors(model), before)


@pytest.mark.parametrize(
    ("name", "message"),
    [("missing", "is missing"), ("extra", "is not part of the model that run.toml describes")],
)
def test_a_missing_or_unknown_tensor_is_named(
    tmp_path: Path, trained_run: Path, model: Seq2Seq[object], name: str, message: str
) -> None:
    tensors = load_file(trained_run / "step-60" / WEIGHTS)
    if name == "missing":
        del tensors["source.embedding.weight"]
    else:
        tensors["extra"] = torch.zeros(1)
    (tmp_path / "x").mkdir()
    save_file(tensors, tmp_path / "x" / WEIGHTS)
    with pytest.raises(ModelFileError, match=f"tensor '.*' {message}"):
        load_weights(model, tmp_path / "x")
