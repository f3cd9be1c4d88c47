"""Pickles never run, and nothing in a folder leads out of it."""

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from regard.api import load
from regard.sealed import MANIFEST
from tests.hostile.edits import (
    INDEX,
    RUN_FILE,
    WEIGHTS,
    WORDS,
    refusal,
)
from tests.hostile.small_run import change, put


class Bomb:
    """Unpickling it makes a folder."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.place),)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (WEIGHTS, "not a readable safetensors file"),
        ("best-20/weights.pt", "weights.pt: a pickle, which may run any program"),
        ("best-20/pytorch_model.bin", "pytorch_model.bin: a pickle"),
        ("weights.pt", "weights.pt: a pickle"),
        (RUN_FILE, "run.toml: byte 1 is not UTF-8"),
        (INDEX, "tokeniser.json: Invalid JSON"),
        (WORDS, "joint.json: not JSON"),
        ("tokeniser/joint.pkl", "joint.pkl: a pickle"),
        ("best-20/scores.json", ""),
        (MANIFEST, "manifest.json is damaged"),
    ],
)
def test_a_pickle_anywhere_never_runs(run: Path, tmp_path: Path, name: str, message: str) -> None:
    bomb = pickle.dumps(Bomb(tmp_path / "exploded"))
    if name == MANIFEST:
        (run / name).write_bytes(bomb)
    else:
        put(run, name, bomb)
    if message:
        assert message in refusal(run)
    else:
        load(run, device="cpu")  # one checkpoint needs no scores to be chosen
    assert not (tmp_path / "exploded").exists()


def test_a_folder_with_nothing_but_a_pickle_is_refused(run: Path) -> None:
    change(run, lambda folder: (folder / WEIGHTS).rename(folder / "best-20" / "weights.pt"))
    assert "weights.pt: a pickle, which may run any program when it is read" in refusal(run)


# ------------------------------------------------------------------------------ paths


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "tokeniser/../../outside",
        "/etc/hostname",
        "a\0b",
        "link",
        "ring",
        "linked/file",
        "../run-and-more/file",
    ],
)
def test_a_manifest_cannot_name_what_lies_outside(run: Path, name: str) -> None:
    outside = run.parent / "outside"
    outside.write_text("secret", "utf-8")
    (run.parent / "run-and-more").mkdir()
    (run.parent / "run-and-more" / "file").touch()
    (run / "link").symlink_to(outside)
    (run / "ring").symlink_to(run / "ring")
    (run / "linked").symlink_to(run.parent / "run-and-more")
    manifest = json.loads((run / MANIFEST).read_text("utf-8"))
    (run / MANIFEST).write_text(json.dumps({**manifest, "sha256": {name: "0"}}), "utf-8")
    assert f"manifest.json names {name!r}, outside the folder" in refusal(run)


@pytest.mark.parametrize(
    "name", ["%2e%2e/outside", "..%2foutside", "", ".", "tokeniser", "x" * 300]
)
def test_other_names_are_names_of_nothing(run: Path, name: str) -> None:
    manifest = json.loads((run / MANIFEST).read_text("utf-8"))
    (run / MANIFEST).write_text(json.dumps({**manifest, "sha256": {name: "0"}}), "utf-8")
    found = refusal(run)
    assert "is missing" in found or "File name too long" in found


@pytest.mark.parametrize("written", ['"\\ud800": "0"', '"a": "0", "a": "0"', '"a": NaN'])
def test_a_manifest_that_is_not_strict_json_is_damaged(run: Path, written: str) -> None:
    (run / MANIFEST).write_text(
        f'{{"format": "regard", "version": 1, "sha256": {{{written}}}}}', "utf-8"
    )
    assert "manifest.json is damaged (" in refusal(run)


@pytest.mark.parametrize("name", [RUN_FILE, INDEX, WORDS, "tokeniser", "best-20", WEIGHTS])
def test_a_link_to_elsewhere_is_refused(run: Path, name: str) -> None:
    """Though the manifest does not name it, and what it points to is in order."""
    elsewhere = run.parent / "elsewhere"
    (run / name).rename(elsewhere)
    (run / name).symlink_to(elsewhere)
    for folder in (run, run / "best-20"):
        path = folder / MANIFEST
        manifest = json.loads(path.read_text("utf-8"))
        sums = {n: s for n, s in manifest["sha256"].items() if not (folder / n).is_symlink()}
        sums = {n: s for n, s in sums.items() if not (folder / n).parent.is_symlink()}
        path.write_text(json.dumps({**manifest, "sha256": sums}), "utf-8")
    assert "a link to outside of" in refusal(run)


def test_a_pipe_is_not_waited_for(run: Path) -> None:
    (run / RUN_FILE).unlink()
    os.mkfifo(run / RUN_FILE)
    assert "run.toml is missing" in refusal(run)
