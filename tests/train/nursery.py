"""A process that forks trainings: each is a process of its own and pays for no import.

`Nursery` is the test's end of it; run as a program, this file is the other end. A job is a line
of JSON. The answer is the number of the process and, when that has ended, its exit code.
"""

import json
import os
import select
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

ROOT = Path(__file__).parents[2]


class Nursery:
    """Starts `regard` commands one at a time, and may kill them.

    Args:
        place: a folder for what the commands print.
    """

    def __init__(self, place: Path) -> None:
        place.mkdir(parents=True, exist_ok=True)
        self._printed = place / "printed"
        self._child: int | None = None
        self._server = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        )
        assert self._answer() == "ready"

    def __enter__(self) -> "Nursery":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._child is not None:  # a test that failed has left it
            os.kill(self._child, signal.SIGKILL)
        self._server.terminate()
        self._server.communicate()

    def start(self, *arguments: str | Path, **job: Any) -> int:
        """Fork a process that runs a command; return its number."""
        self._printed.write_text("", "utf-8")
        job |= {"arguments": list(map(str, arguments)), "printed": str(self._printed)}
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(job).encode() + b"\n")
        self._server.stdin.flush()
        self._child = int(self._answer())
        return self._child

    def ended(self, seconds: float) -> bool:
        """Whether the command ends by itself within this time."""
        assert self._server.stdout is not None
        return bool(select.select([self._server.stdout], [], [], seconds)[0])

    def exit_code(self) -> int:
        """Wait for the command; a signal's number is negative."""
        assert self.ended(60), self.printed()
        self._child = None
        return int(self._answer())

    def printed(self) -> str:
        """What the command has printed."""
        return self._printed.read_text("utf-8")

    def run(self, *arguments: str | Path, **job: Any) -> int:
        """Run a command to its end."""
        self.start(*arguments, **job)
        return self.exit_code()

    def _answer(self) -> str:
        # Unbuffered, so that `select` sees whatever has not been read.
        assert self._server.stdout is not None
        answer = b""
        while not answer.endswith(b"\n"):
            byte = os.read(self._server.stdout.fileno(), 1)
            assert byte, f"the nursery is gone\n{answer!r}"
            answer += byte
        return answer.decode().strip()


def serve() -> None:
    """Import everything, then fork a child for each line of standard input."""
    # Imported here, and before the first fork, what a training would import while it runs.
    for module in (
        "numpy.ctypeslib",
        "torch._dynamo",
        "regard.build",
        "regard.defaults",
        "regard.train.console",
    ):
        import_module(module)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _run(json.loads(line))
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _run(job: dict[str, Any]) -> NoReturn:
    from regard.cli.app import main

    printed = os.open(job["printed"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(printed, stream)
    if "awaited_save" in job:
        _await_the_save(job["awaited_save"], is_all=job["is_save_all"])
    if "largest_file" in job:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (job["largest_file"],) * 2)
    code = main(job["arguments"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _await_the_save(step: int, *, is_all: bool) -> None:
    """Wait for SIGUSR1 before the checkpoint of a step is saved; perhaps that is then all."""
    trainer = import_module("regard.train.trainer")
    save = trainer.save_checkpoint

    def awaited(run: Path, model: Any, optimiser: Any, progress: Any, averaged: Any) -> Path:
        if progress.step == step:
            os.write(1, b"waiting\n")
            signal.sigwait({signal.SIGUSR1})
        folder: Path = save(run, model, optimiser, progress, averaged)
        if progress.step == step and is_all:
            os._exit(0)
        return folder

    setattr(trainer, save.__name__, awaited)


if __name__ == "__main__":
    serve()
