"""Rivals measured side by side: each in a process of its own, taking turns.

The machine's speed drifts, and one process's allocator, threads and caches should not help or
hurt another's. So every rival is a process that warms up once and then measures one round
whenever it is told to; the rounds go around, and only medians of the same run are compared.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

Measurement = dict[str, float]
Report = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Spread:
    """Several measurements of one thing."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(statistics.median(values), min(values), max(values))


def serve_rounds(measure: Callable[[], Measurement]) -> None:
    """The loop of a worker: a measurement on stdout for every line on stdin."""
    _say({})  # warmed up
    for _ in sys.stdin:
        _say(measure())


def take_turns(
    script: Path, workers: Sequence[Sequence[str]], rounds: int, tell: Callable[[str], None]
) -> list[list[Measurement]]:
    """Start `script` with each list of arguments and let the processes measure in turns.

    Returns:
        For every worker its measurements, one a round.
    """
    results: list[list[Measurement]] = [[] for _ in workers]
    with ExitStack() as stack:
        processes = []
        for arguments in workers:
            tell(f"warming up {' '.join(arguments)}")
            processes.append(stack.enter_context(_started(script, arguments)))
            _hear(processes[-1])
        for number in range(rounds):
            for arguments, process, result in zip(workers, processes, results, strict=True):
                tell(f"round {number + 1} of {rounds}: {' '.join(arguments)}")
                _pipe(process.stdin).write("\n")
                _pipe(process.stdin).flush()
                result.append(_hear(process))
    return results


@contextmanager
def _started(script: Path, arguments: Sequence[str]) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, str(script), *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _hear(process: "subprocess.Popen[str]") -> Measurement:
    for line in _pipe(process.stdout):
        if line.startswith("{"):
            heard: Measurement = json.loads(line)
            return heard
    sys.exit(f"{process.args!r} ended early; its own words are above")


def _say(measurement: Measurement) -> None:
    print(json.dumps(measurement), flush=True)


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def tell(line: str) -> None:
    """Progress, where a person looks on."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


def add_delivery(parser: argparse.ArgumentParser) -> None:
    """The options that `deliver` follows."""
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--picture", type=Path, help="also draw a picture into this file")


def deliver(
    report: Report,
    options: argparse.Namespace,
    show: Callable[[Report], None],
    draw: Callable[[Report, Path], None],
) -> None:
    """Print a report as a table or as JSON, and draw it if asked to."""
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        show(report)
    if options.picture:
        options.picture.parent.mkdir(parents=True, exist_ok=True)
        draw(report, options.picture)


def machine() -> dict[str, Any]:
    """What the figures depend on besides the code."""
    import os
    import platform

    from regard.machine import fingerprint

    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {"processor": (names or [platform.processor()])[0], "cores": os.cpu_count()} | (
        fingerprint()
    )
