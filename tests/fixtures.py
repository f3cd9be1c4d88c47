"""What tests of several rooms need: a trained run, and a corpus to train another on."""

import os
import shutil
from pathlib import Path

import pytest
import torch

from regard.api import Translator, load
from regard.build import build_trainer, create_run
from tests.little_corpus import little_run, write_corpus

# On tensors as small as the tests' two threads only wait for each other; children inherit it.
torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"


@pytest.fixture(scope="session")
def trained_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder as training leaves it: checkpoints, best, averaged. Not to be changed."""
    place = tmp_path_factory.mktemp("trained")
    config = little_run(write_corpus(place), steps=60, validate_every=20, save_every=20, average=3)
    run = create_run(place / "run", config)
    build_trainer(run).train()
    return run.folder


@pytest.fixture(scope="session")
def translator(trained_run: Path) -> Translator:
    return load(trained_run, device="cpu")


@pytest.fixture
def copied_run(trained_run: Path, tmp_path: Path) -> Path:
    """A copy of the trained run, to damage."""
    copy = tmp_path / "copy"
    shutil.copytree(trained_run, copy)
    return copy


@pytest.fixture
def corpus(tmp_path: Path) -> tuple[Path, Path]:
    return write_corpus(tmp_path)
