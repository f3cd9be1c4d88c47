"""Which weights of a run folder are taken, and which are refused."""

import importlib
import os
import pickle
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load as parse

from regard.api import load
from regard.build import create_run, open_run
from regard.errors import ModelFileError
from regard.loading import choose_checkpoint
from regard.sealed import sealing, verify
from regard.train.checkpoint import WEIGHTS, newest_checkpoint, save_weights
from regard.train.progress import Scores
from tests.little_corpus import little_run

SENTENCE = "Jane visite l'Afrique en septembre."


def reseal(folder: Path, name: str, content: bytes) -> None:
    """Replace a file, with a manifest that is true of the new content."""
    files = {f.name: f.read_bytes() for f in folder.iterdir() if f.name != "manifest.json"}
    shutil.rmtree(folder)
    with sealing(folder) as temporary:
        for each, old in files.items():
            (temporary / each).write_bytes(content if each == name else old)


# ------------------------------------------------------------------------------ which weights


def with_scores(run: Path, folder: str, scores: Scores) -> None:
    """Give a checkpoint other scores."""
    path = run / folder
    weights = {f.name: f.read_bytes() for f in path.iterdir()}
    shutil.rmtree(path)
    save_weights(path, parse(weights[WEIGHTS]), scores)


@pytest.mark.parametrize(("best", "averaged", "chosen"), [(1.0, 2.0, "best"), (2.0, 1.0, "averag")])
def test_the_better_of_best_and_averaged_is_taken(
    copied_run: Path, best: float, averaged: float, chosen: str
) -> None:
    with_scores(copied_run, "best-60", Scores(60, best, 0.0))
    with_scores(copied_run, "averaged-60", Scores(60, averaged, 99.0))
    assert choose_checkpoint(open_run(copied_run)).name.startswith(chosen)


@pytest.mark.parametrize(
    ("name", "folder"),
    [("best", "best-60"), ("averaged", "averaged-60"), ("last", "step-60"), ("step-40", "step-40")],
)
def test_a_checkpoint_can_be_named(trained_run: Path, name: str, folder: str) -> None:
    assert choose_checkpoint(open_run(trained_run), name).name == folder


def test_without_best_and_averaged_the_last_is_taken(copied_run: Path) -> None:
    shutil.rmtree(copied_run / "best-60")
    shutil.rmtree(copied_run / "averaged-60")
    assert choose_checkpoint(open_run(copied_run)).name == "step-60"


def replace_best(run: Path) -> None:
    """As a training does that finds better weights."""
    shutil.copytree(run / "best-60", run / "best-80")
    shutil.rmtree(run / "best-60")


@pytest.mark.parametrize(
    "where", ["regard.loading.load_weights", "regard.loading.check_own", "regard.api.is_int8"]
)
def test_weights_that_a_training_replaces_meanwhile_are_chosen_anew(
    copied_run: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    shutil.rmtree(copied_run / "averaged-60")
    module, _, name = where.rpartition(".")
    plain = getattr(importlib.import_module(module), name)
    seen: list[tuple[Any, ...]] = []

    def replaced(*arguments: Any) -> Any:
        if not seen:
            replace_best(copied_run)
        seen.append(arguments)
        return plain(*arguments)

    monkeypatch.setattr(where, replaced)
    assert load(copied_run).translate(SENTENCE).text
    assert "best-80" in str(seen[-1])


def test_the_newest_checkpoint_is_looked_for_again_if_it_is_gone(
    copied_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings: list[str] = []

    def replaced(folder: Path) -> None:
        if folder.name == "best-60":
            replace_best(copied_run)
        verify(folder)

    monkeypatch.setattr("regard.train.checkpoint.verify", replaced)
    assert newest_checkpoint(copied_run, "best", warnings.append) == copied_run / "best-80"
    assert not warnings


@pytest.mark.parametrize("name", ["step-7", "../copy/step-60", ".", "tokeniser", "step-60/", ""])
def test_an_unknown_checkpoint_is_answered_with_the_known(copied_run: Path, name: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        choose_checkpoint(open_run(copied_run), name)
    assert str(caught.value) == (
        f"{copied_run}: no checkpoint {name}; there are: "
        "best-60, averaged-60, step-20, step-40, step-60"
    )


def test_a_run_without_weights_is_one_line(tmp_path: Path, corpus: tuple[Path, Path]) -> None:
    create_run(tmp_path / "run", little_run(corpus))
    with pytest.raises(ModelFileError, match="no trained weights; `regard train --resume` goes on"):
        load(tmp_path / "run")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def test_damaged_weights_are_named_and_passed_over(copied_run: Path) -> None:
    for name in ("best-60", "averaged-60", "step-60"):
        flip(copied_run / name / WEIGHTS)
    warnings: list[str] = []
    load(copied_run, device="cpu", warn=warnings.append)
    assert len(warnings) == 3
    assert all(f"{WEIGHTS} is damaged" in line for line in warnings)
    assert warnings[-1].endswith("continuing from step-40")


def test_damaged_weights_asked_for_by_name_are_refused(copied_run: Path) -> None:
    flip(copied_run / "step-60" / WEIGHTS)
    with pytest.raises(ModelFileError, match=f"step-60: {WEIGHTS} is damaged"):
        load(copied_run, checkpoint="step-60")


# ------------------------------------------------------------------------------ hostile files


class Bomb:
    """Unpickling it makes a folder."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.place),)


def test_a_pickle_is_refused_and_nothing_of_it_runs(copied_run: Path, tmp_path: Path) -> None:
    reseal(copied_run / "best-60", WEIGHTS, pickle.dumps(Bomb(tmp_path / "exploded")))
    with pytest.raises(ModelFileError, match="not a readable safetensors file"):
        load(copied_run, checkpoint="best")
    assert not (tmp_path / "exploded").exists()


def test_weights_that_do_not_fit_the_run_file_are_named(trained_run: Path, tmp_path: Path) -> None:
    run = open_run(trained_run)
    model = replace(run.config.model, d_model=16)
    other = create_run(tmp_path / "other", replace(run.config, model=model), run.tokenisers)
    shutil.copytree(trained_run / "best-60", other.folder / "best-60")
    with pytest.raises(ModelFileError, match=r"has shape \[32\], run.toml describes \[16\]"):
        load(other.folder)


def test_loading_does_not_wait_for_a_compiler(trained_run: Path) -> None:
    script = f"""
import sys, regard
regard.load({str(trained_run)!r})
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=300)
