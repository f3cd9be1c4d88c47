"""Edits that turn a sound run folder into a hostile one, and the line that refuses it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save

from regard.api import load
from regard.errors import RegardError

WEIGHTS = "best-20/weights.safetensors"
RUN_FILE = "run.toml"
INDEX = "tokeniser/tokeniser.json"
WORDS = "tokeniser/joint.json"

Edit = Callable[[Path], object]


def refusal(run: Path) -> str:
    """The line with which a folder is refused."""
    with pytest.raises(RegardError) as caught:
        load(run, device="cpu")
    message = str(caught.value)
    assert "\n" not in message and len(message) < 1000
    return message


def content(name: str, written: bytes) -> Edit:
    """Put a file in the place of another."""
    return lambda run: (run / name).write_bytes(written)


def setting(table: str, key: str, value: object) -> Edit:
    """Change one value of run.toml."""

    def edit(run: Path) -> None:
        before, rest = (run / RUN_FILE).read_text("utf-8").split(f"[{table}]\n")
        lines = rest.split("\n")
        place = next(i for i, line in enumerate(lines) if line.startswith(f"{key} = "))
        lines[place] = f"{key} = {value}"
        (run / RUN_FILE).write_text(f"{before}[{table}]\n" + "\n".join(lines), "utf-8")

    return edit


def header(entries: dict[str, Any], data: bytes = b"") -> Edit:
    """Weights with this header."""
    written = json.dumps(entries).encode()
    return content(WEIGHTS, len(written).to_bytes(8, "little") + written + data)


def empty(*shape: int) -> dict[str, Any]:
    return {"dtype": "F32", "shape": shape or [0], "data_offsets": [0, 0]}


def words(count: int) -> Edit:
    return content(WORDS, json.dumps([f"w{n}" for n in range(count)]).encode())


def tensors(edit: Callable[[dict[str, torch.Tensor]], object]) -> Edit:
    """Weights in good form, but other ones."""

    def rewrite(run: Path) -> None:
        held = load_file(run / WEIGHTS)
        edit(held)
        (run / WEIGHTS).write_bytes(save(held))

    return rewrite


def sparse(name: str, size: int) -> Edit:
    """A file of nothing but zeros, which take no room on the disk."""

    def edit(run: Path) -> None:
        with (run / name).open("wb") as file:
            file.truncate(size)

    return edit
