"""A small run to put hostile files into."""

import shutil
from pathlib import Path

import pytest

from tests.hostile.small_run import write_run


@pytest.fixture(scope="session")
def sound_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not to be changed."""
    return write_run(tmp_path_factory.mktemp("sound"))


@pytest.fixture
def run(sound_run: Path, tmp_path: Path) -> Path:
    """A copy, to be changed."""
    return Path(shutil.copytree(sound_run, tmp_path / "run"))
