"""kill -9 at random moments, again and again: what remains is the unbroken run, bit for bit."""

import dataclasses
import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.config import write_config
from tests.train.nursery import Nursery
from tests.train.recording import everything_random

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")

STEPS = 24


@dataclasses.dataclass
class Scene:
    """A run file, the unbroken run of it, and how long that took."""

    nursery: Nursery
    run_file: Path
    unbroken: dict[str, object]
    seconds: float


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    place = tmp_path_factory.mktemp("killed")
    config = everything_random(
        place, steps=STEPS, patience=STEPS, save_every=3, keep=3, batch_tokens=200
    )
    run_file = place / "run.toml"
    run_file.write_text(write_config(config), "utf-8")
    with Nursery(place) as nursery:
        started = time.monotonic()
        assert nursery.run("train", run_file, "--out", place / "unbroken") == 0, nursery.printed()
        seconds = time.monotonic() - started
        yield Scene(nursery, run_file, contents(place / "unbroken"), seconds)


def contents(folder: Path) -> dict[str, object]:
    """Every file of a run folder; of those that tell the time, without the time."""
    found: dict[str, object] = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.name == "log.jsonl":
            lines = path.read_text("utf-8").splitlines()
            untimed = {"seconds": None, "busy": None}
            found[name] = [json.loads(line) | untimed for line in lines]
        elif path.name == "progress.json":
            found[name] = json.loads(path.read_text("utf-8")) | {"seconds": None}
        elif path.is_file() and not (path.name == "manifest.json" and path.parent != folder):
            found[name] = path.read_bytes()
        elif path.is_dir():
            found[name] = "folder"
    return found


def kill_until_done(scene: Scene, out: Path, moments: random.Random, most: int) -> int:
    """Train, kill, resume, kill …, at most so many times; then let it end; return the kills."""
    kills = 0
    while True:
        begin = ["--resume"] if out.exists() else [str(scene.run_file)]
        process = scene.nursery.start("train", *begin, "--out", out)
        is_spared = kills == most
        if is_spared or scene.nursery.ended(moments.uniform(0, scene.seconds)):
            assert scene.nursery.exit_code() == 0, scene.nursery.printed()
            return kills
        os.kill(process, signal.SIGKILL)
        assert scene.nursery.exit_code() in (0, -signal.SIGKILL)
        kills += 1


def survive(scene: Scene, place: Path, kills: int) -> None:
    """So many kills, of one run or of several, each of which ends as the unbroken one did."""
    seed = random.SystemRandom().randrange(2**32)
    moments = random.Random(seed)
    runs = 0
    while kills:
        out = place / str(runs) / "run"
        kills -= kill_until_done(scene, out, moments, kills)
        found = contents(out)
        differing = sorted(
            name
            for name in found.keys() | scene.unbroken.keys()
            if found.get(name) != scene.unbroken.get(name)
        )
        assert not differing, f"{differing} differ in run {runs} of seed {seed}"
        assert os.listdir(out.parent) == ["run"], f"leftovers in run {runs} of seed {seed}"
        runs += 1


def test_the_unbroken_run_is_worth_breaking(scene: Scene) -> None:
    folders = {name for name, content in scene.unbroken.items() if content == "folder"}
    assert {"step-24", "averaged-24", "cache/train"} < folders
    log = scene.unbroken["log.jsonl"]
    assert isinstance(log, list)
    assert [event["step"] for event in log if event["event"] == "step"] == [*range(1, STEPS + 1)]
    assert log[-1]["event"] == "message"


def test_five_kills_change_nothing(scene: Scene, tmp_path: Path) -> None:
    survive(scene, tmp_path, 5)


@pytest.mark.slow
def test_two_hundred_kills_change_nothing(scene: Scene, tmp_path: Path) -> None:
    survive(scene, tmp_path, 200)
