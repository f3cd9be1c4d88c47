"""A save that is killed at any system call, or refused by the disk, leaves a checkpoint."""

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.config import RunConfig, write_config
from regard.sealed import verify
from regard.train.checkpoint import newest_checkpoint
from tests.little_corpus import little_run, write_corpus
from tests.train.nursery import ROOT, Nursery

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="strace and tmpfs are Linux's"),
]

# Of all that a save calls, what touches the disk; and of that, what can find it full.
TOUCHING = "openat|write|ftruncate|mkdir|rename|renameat|fsync|close|read|getdents64|newfstatat"
FILLING = "openat|write|ftruncate|mkdir|rename|renameat|fsync|close"


def small_run(place: Path, **train: Any) -> RunConfig:
    config = little_run(
        write_corpus(place), save_every=1, average=0, validate_bleu=False, show=0, **train
    )
    return dataclasses.replace(config, model=dataclasses.replace(config.model, d_model=16, d_ff=16))


@dataclasses.dataclass
class Bench:
    """A run folder that has step-1 and will save step-2, to be copied for each fault."""

    nursery: Nursery
    place: Path
    base: Path
    num_cases: int = 0

    def begin(self, *, is_save_all: bool) -> tuple[int, Path]:
        """Resume a copy; the process waits for SIGUSR1 before it saves."""
        self.num_cases += 1
        folder = self.place / str(self.num_cases)
        shutil.copytree(self.base, folder)
        process = self.nursery.start(
            "train", "--resume", "--out", folder, awaited_save=2, is_save_all=is_save_all
        )
        self.await_the_save()
        return process, folder

    def await_the_save(self) -> None:
        deadline = time.monotonic() + 60
        while "waiting" not in self.nursery.printed():
            assert time.monotonic() < deadline, self.nursery.printed()
            time.sleep(0.002)

    def save(self, *options: str, is_save_all: bool) -> tuple[int, Path, str]:
        """Save under strace; return the exit code, the run folder and the trace."""
        process, folder = self.begin(is_save_all=is_save_all)
        trace = self.place / "trace"
        command = ["strace", "-f", "-p", str(process), "-o", str(trace), *options]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
            assert tracer.stderr is not None
            said = tracer.stderr.readline()
            if "attached" not in said:
                os.kill(process, signal.SIGKILL)
                self.nursery.exit_code()
                pytest.skip(f"strace may not attach here: {said.strip()}")
            os.kill(process, signal.SIGUSR1)
            code = self.nursery.exit_code()
        return code, folder, trace.read_text("utf-8", errors="replace")

    def calls(self, pattern: str, *, is_save_all: bool) -> list[str]:
        """The names of the system calls of an undisturbed save, each once."""
        _, _, trace = self.save(is_save_all=is_save_all)
        found = re.findall(r"^\d+ +(\w+)\(", trace, re.MULTILINE)
        return sorted({name for name in found if re.fullmatch(pattern, name)})


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    place = tmp_path_factory.mktemp("faults")
    run_file, base = place / "run.toml", place / "base"
    run_file.write_text(write_config(small_run(place, steps=2, keep=1)), "utf-8")
    with Nursery(place) as nursery:
        bench = Bench(nursery, place, base)
        process = nursery.start("train", run_file, "--out", base, awaited_save=2, is_save_all=True)
        bench.await_the_save()
        os.kill(process, signal.SIGKILL)
        nursery.exit_code()
        assert [path.name for path in base.glob("step-*")] == ["step-1"]
        yield bench


def weights(folder: Path) -> bytes:
    return (folder / "step-2" / "weights.safetensors").read_bytes()


def test_a_kill_at_any_system_call_leaves_a_checkpoint_to_go_on_from(bench: Bench) -> None:
    """From the first call of the save to the end of the process, the removal of step-1 included."""
    _, unharmed, _ = bench.save(is_save_all=False)
    num_kills = 0
    for call in bench.calls(r"\w+", is_save_all=False):
        for number in range(1, 1000):
            inject = f"inject={call}:signal=KILL:when={number}"
            code, folder, _ = bench.save("-e", inject, is_save_all=False)
            if code == 0:
                break
            assert code == -signal.SIGKILL, bench.nursery.printed()
            assert newest_checkpoint(folder) is not None, inject
            assert bench.nursery.run("train", "--resume", "--out", folder) == 0, inject
            assert weights(folder) == weights(unharmed), inject
            assert sorted(os.listdir(folder)) == sorted(os.listdir(unharmed)), inject
            shutil.rmtree(folder)
            num_kills += 1
    print(f"{num_kills} kills")
    assert num_kills > 100


@pytest.mark.parametrize(
    ("error", "pattern"), [("EIO", TOUCHING), ("ENOSPC", FILLING)], ids=["EIO", "ENOSPC"]
)
def test_an_error_of_the_disk_at_any_call_keeps_the_old_checkpoint(
    bench: Bench, error: str, pattern: str
) -> None:
    num_errors = 0
    for call in bench.calls(pattern, is_save_all=True):
        for number in range(1, 1000):
            inject = f"inject={call}:error={error}:when={number}"
            code, folder, trace = bench.save("-e", inject, is_save_all=True)
            if "(INJECTED)" not in trace:
                break
            verify(folder / "step-1")
            assert not list(folder.glob(".*")), inject
            if code == 0:  # Python did not need to know
                verify(folder / "step-2")
            else:
                said = bench.nursery.printed().splitlines()
                assert code == 2, inject
                assert [line for line in said if line.startswith("regard: ")] == said[-1:], inject
                assert "step-2 cannot be written" in said[-1], inject
                num_errors += 1
            shutil.rmtree(folder)
    print(f"{num_errors} errors")
    assert num_errors > 30


def test_a_limit_on_the_size_of_files_keeps_the_old_checkpoint(bench: Bench) -> None:
    folder = bench.place / "limited"
    shutil.copytree(bench.base, folder)
    assert bench.nursery.run("train", "--resume", "--out", folder, largest_file=60_000) == 2
    said = bench.nursery.printed().splitlines()
    assert re.search(r"^regard: .*step-2 cannot be written \(.*File too large", said[-1])
    verify(folder / "step-1")
    assert not list(folder.glob(".*"))


PROGRAM = """
import json, os, sys
from pathlib import Path
from regard.cli.app import main
from regard.train.checkpoint import newest_checkpoint

code = main(sys.argv[1:])
folder = Path(sys.argv[-1])
print(json.dumps([code, newest_checkpoint(folder).name, sorted(os.listdir(folder))]))
"""


def test_a_full_file_system_keeps_the_old_checkpoint(tmp_path: Path) -> None:
    run_file, disk = tmp_path / "run.toml", tmp_path / "disk"
    run_file.write_text(write_config(small_run(tmp_path, steps=50, keep=50)), "utf-8")
    disk.mkdir()
    script = 'mount -t tmpfs -o size=1m tmpfs "$0" || exit 77; exec "$@"'
    train = [sys.executable, "-c", PROGRAM, "train", str(run_file), "--out", str(disk / "run")]
    ran = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", script, str(disk), *train],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    if ran.returncode == 77 or "unshare" in ran.stderr:
        pytest.skip(f"no file system may be mounted here: {ran.stderr.strip()}")
    code, newest, names = json.loads(ran.stdout)
    said = ran.stderr.splitlines()[-1]
    assert code == 2
    assert re.search(r"^regard: .* cannot be written \(.*No space left on device", said)
    assert newest in names and len(names) > 7
    assert not [name for name in names if name.startswith(".")]
