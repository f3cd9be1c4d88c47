"""Checkpoints: sealed folders inside a run folder.

step-500/      weights, optimiser and random state, progress, machine: enough to go on
best-500/      weights and scores of the best validation
averaged-500/  weights averaged over the newest checkpoints, and their scores

Where a training keeps a moving average of its weights, it is part of the state in step-500; it is
what is validated, so best-500 holds it; and averaged-500 is the average as it was at the end.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from regard.bounded import read_bounded, shown
from regard.errors import ModelFileError
from regard.machine import fingerprint
from regard.nn.int8 import SCALE, dequantised_tensors
from regard.safetensors_header import read_header
from regard.sealed import discard, remove_temporaries, sealing, verify
from regard.shapes import Tensor
from regard.train.optimiser import Adam
from regard.train.progress import Progress, Scores

WEIGHTS = "weights.safetensors"
STATE = "state.safetensors"
PROGRESS = "progress.json"
MACHINE = "machine.json"
SCORES = "scores.json"
AVERAGE = "average/"
MAX_JSON_BYTES = 100_000

Warn = Callable[[str], None]


def save_checkpoint(
    run: Path,
    model: nn.Module,
    optimiser: Adam,
    progress: Progress,
    averaged: nn.Module | None = None,
) -> Path:
    """Write `step-N` with everything training needs to go on as if never interrupted.

    Args:
        run: the folder it is written to.
        model: what learns.
        optimiser: with its memory.
        progress: where the training stands.
        averaged: the moving average of the model, if there is one.
    """
    folder = run / f"step-{progress.step}"
    averages = {} if averaged is None else model_tensors(averaged)
    state = optimiser.tensors() | random_state()
    state |= {f"{AVERAGE}{name}": tensor for name, tensor in averages.items()}
    with sealing(folder) as temporary:
        _save_tensors(model_tensors(model), temporary / WEIGHTS)
        _save_tensors(state, temporary / STATE)
        _write_json(temporary / PROGRESS, asdict(progress))
        _write_json(temporary / MACHINE, _machine(model))
    return folder


def restore_checkpoint(
    folder: Path, model: nn.Module, optimiser: Adam, averaged: nn.Module | None = None
) -> Progress:
    """Bring everything that `save_checkpoint` was given back to where it was called.

    Raises:
        ModelFileError: the tensors are not those of this model and its average.
    """
    load_weights(model, folder)
    state = load_file(folder / STATE)
    random = {key: state.pop(key) for key in list(state) if key.startswith("random/")}
    if averaged is not None:
        names = [key for key in state if key.startswith(AVERAGE)]
        averages = {key.removeprefix(AVERAGE): state.pop(key) for key in names}
        fill(averaged, averages, folder / STATE)
    optimiser.restore(state)
    _restore_random_state(random)
    return Progress(**json.loads((folder / PROGRESS).read_text("utf-8")))


def machine_changes(folder: Path, model: nn.Module) -> list[str]:
    """What makes going on from this checkpoint differ in the last bits, as "it was X, is Y"."""
    path = folder / MACHINE
    before = json.loads(path.read_text("utf-8")) if path.exists() else {}
    now = _machine(model)
    names = sorted(before.keys() | now.keys())
    found = [(name, before.get(name, "unknown"), now.get(name, "unknown")) for name in names]
    return [f"{name} was {was}, is {is_}" for name, was, is_ in found if was != is_]


def _machine(model: nn.Module) -> dict[str, str | int]:
    device = next(model.parameters()).device.type
    return fingerprint() | {"device": device}


def save_weights(folder: Path, tensors: dict[str, Tensor], scores: Scores) -> None:
    """Write weights that are for use, not for going on, with the scores they reached."""
    with sealing(folder) as temporary:
        _save_tensors(tensors, temporary / WEIGHTS)
        _write_json(temporary / SCORES, asdict(scores))


def read_scores(folder: Path) -> Scores:
    """The scores that `save_weights` kept.

    Raises:
        ModelFileError: the file is missing, or holds anything else.
    """
    path = folder / SCORES
    try:
        return TypeAdapter(Scores).validate_json(read_bounded(path, MAX_JSON_BYTES))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ModelFileError(f"{path}: {where or 'it'}: {first['msg']}") from None


def check_weights(model: nn.Module, folder: Path) -> None:
    """Compare the header of a checkpoint's weights with a model, which may be on `meta`.

    So a file is refused before any memory is set aside for the model or its numbers.

    Raises:
        ModelFileError: the file is not safetensors, or does not fit the model.
    """
    path = folder / WEIGHTS
    header = read_header(path)
    for name, entry in header.items():
        scale = header.get(name + SCALE)
        if entry.dtype == "I8" and (scale is None or scale.shape != entry.shape[:1]):
            raise ModelFileError(f"{path}: tensor {shown(name)} has not one scale for each row")
    shapes = {n: entry.shape for n, entry in header.items() if not n.endswith(f".weight{SCALE}")}
    _compare(model, shapes, path)


def is_int8(folder: Path) -> bool:
    """Whether a checkpoint's matrices are stored as 8-bit integers.

    Raises:
        ModelFileError: its weights are not safetensors.
    """
    return any(entry.dtype == "I8" for entry in read_header(folder / WEIGHTS).values())


def load_weights(model: nn.Module, folder: Path) -> None:
    """Fill the model from a checkpoint.

    Raises:
        ModelFileError: the file is not safetensors, or does not fit the model.
    """
    check_weights(model, folder)
    path = folder / WEIGHTS
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelFileError(f"{path}: not a readable safetensors file ({error})") from None
    fill(model, dequantised_tensors(tensors), path)


def fill(model: nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    """Copy tensors into the model; `path` says in a message where they came from.

    Raises:
        ModelFileError: the names or shapes are not the model's.
    """
    _compare(model, {name: tuple(tensor.shape) for name, tensor in tensors.items()}, path)
    expected = model_tensors(model)
    with torch.no_grad():
        for name, tensor in tensors.items():
            expected[name].copy_(tensor)


def _compare(model: nn.Module, found: dict[str, tuple[int, ...]], path: Path) -> None:
    expected = {name: tuple(tensor.shape) for name, tensor in model_tensors(model).items()}
    for name in sorted(expected.keys() ^ found.keys()):
        where = "missing" if name in expected else "not part of the model that run.toml describes"
        raise ModelFileError(f"{path}: tensor {shown(name)} is {where}")
    for name, shape in found.items():
        if shape != expected[name]:
            raise ModelFileError(
                f"{path}: tensor {name!r} has shape {list(shape)}, "
                f"run.toml describes {list(expected[name])}"
            )


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """All that defines the model's output, shared tensors once, under their first name."""
    buffers = {name: b for name, b in model.named_buffers() if name in model.state_dict()}
    return {name: p.detach() for name, p in model.named_parameters()} | buffers


def average_weights(folders: Iterable[Path]) -> dict[str, Tensor]:
    """The mean of several checkpoints' weights (Vaswani et al. 2017, section 6.1)."""
    every = [load_file(folder / WEIGHTS) for folder in folders]
    return {
        name: torch.stack([tensors[name].double() for tensors in every]).mean(0).to(first.dtype)
        for name, first in every[0].items()
    }


def checkpoints(run: Path, kind: str = "step") -> list[Path]:
    """The checkpoints of a kind, oldest first; they may be damaged."""
    numbered = [
        (int(match[1]), path)
        for path in run.glob(f"{kind}-*")
        if (match := re.fullmatch(rf"{kind}-(\d+)", path.name))
    ]
    return [path for _, path in sorted(numbered)]


def intact_checkpoints(run: Path, kind: str = "step") -> list[Path]:
    """The checkpoints of a kind that verify, oldest first."""
    return [folder for folder in checkpoints(run, kind) if _is_intact(folder)]


def _is_intact(folder: Path) -> bool:
    try:
        verify(folder)
    except ModelFileError:
        return False
    return True


def newest_checkpoint(run: Path, kind: str = "step", warn: Warn = lambda line: None) -> Path | None:
    """The newest checkpoint that verifies; damage is told to `warn`, and the one before used."""
    candidates = checkpoints(run, kind)[::-1]
    for i, folder in enumerate(candidates):
        try:
            verify(folder)
        except ModelFileError as damage:
            if not folder.exists():  # a training that goes on has replaced it
                return newest_checkpoint(run, kind, warn)
            older = candidates[i + 1].name if i + 1 < len(candidates) else "nothing: none is left"
            warn(f"{damage}; continuing from {older}")
        else:
            return folder
    return None


def forget_later(folder: Path) -> None:
    """Remove the checkpoints after this one: damaged ones, which resuming passed over.

    Otherwise they would count among the newest, and intact ones be removed in their place.
    """
    found = checkpoints(folder.parent)
    for later in found[found.index(folder) + 1 :]:
        discard(later)


def drop_interim(newest: Path, save_every: int) -> None:
    """Remove the checkpoints before this one that only an interruption made.

    An unbroken run has none such, and should not keep and average others than a resumed one.
    """
    for folder in checkpoints(newest.parent):
        is_interim = int(folder.name.removeprefix("step-")) % save_every != 0
        if is_interim and folder != newest:
            discard(folder)


def prune(run: Path, keep: int, kind: str = "step") -> None:
    """Remove all but the newest checkpoints, and what interrupted saves left behind."""
    for folder in checkpoints(run, kind)[:-keep]:
        discard(folder)
    remove_temporaries(run)


def random_state() -> dict[str, Tensor]:
    """Where torch's streams of random numbers stand: the CPU's and every CUDA device's."""
    states = {"random/cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states |= {f"random/cuda{i}": s for i, s in enumerate(torch.cuda.get_rng_state_all())}
    return states


def _restore_random_state(states: dict[str, Tensor]) -> None:
    torch.set_rng_state(states.pop("random/cpu"))
    for key, state in states.items():
        device = int(key.removeprefix("random/cuda"))
        if device < torch.cuda.device_count():
            torch.cuda.set_rng_state(state, device)


def _save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    try:
        save_file(tensors, path)
    except SafetensorError as error:  # so it calls a full disk
        raise OSError(str(error)) from None


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", "utf-8")
