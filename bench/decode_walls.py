"""What decoding would be if nothing but the kernels took time, or nothing but the products.

    python bench/decode_walls.py                       # some minutes
    python bench/decode_walls.py --config tiny --json

Random models decode 20 steps a sentence with beam 4, in fp32, one process a core, as in
`decode_speed.py`. A clock around every call of a compiled kernel says how long these take; then
the same processes compute the matrix products of that search alone, with numbers that lie in the
cache already. What lies beyond a wall, no search around these kernels can reach. Nothing else
should be running.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from decode_speed import BEAMS, CONFIGS, NUM_SENTENCES, ROUNDS
from decode_systems import RUN, Job, Settings, stage_random
from regard.api import load
from regard.build import open_run
from regard.decoding.request import Request
from regard.decoding.search import requests
from regard.machine import tune_allocator
from regard.models.transformer import TransformerConfig
from regard.native import kernels
from regard.native.floats import PackedFloats
from workers import Report, machine, tell

SEARCH = "beam4"
PROCESSES = 2


@dataclass(frozen=True, slots=True)
class Round:
    """What one process did with its share of the sentences.

    Attributes:
        tokens: it wrote.
        seconds: the whole took.
        kernels: of these, inside compiled kernels.
        products: seconds of the products alone.
        operations: these products have, two for a multiplication with its addition.
    """

    tokens: int
    seconds: float
    kernels: float
    products: float
    operations: int


@dataclass(frozen=True, slots=True)
class Walls:
    """A model's walls: medians over rounds, all processes together.

    Attributes:
        config: tiny, small or base.
        tokens_per_second: of Regard as it is.
        kernels: times as fast it would be if nothing else took time.
        products: likewise.
        gflops: of the products alone, billions of operations a second.
    """

    config: str
    tokens_per_second: float
    kernels: float
    products: float
    gflops: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--config", action="append", choices=CONFIGS, help="again for more")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args()
    if not kernels.has_float_products():
        parser.error("there are no compiled products for this processor, and so no walls of theirs")
    report = measure(options)
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        show(report)


def measure(options: argparse.Namespace) -> Report:
    rows = []
    for config in options.config or CONFIGS:
        with tempfile.TemporaryDirectory() as place:
            stage = Path(place) / config
            stage_random(config, NUM_SENTENCES[config], stage)
            rows.append(walls_of(config, list(rounds_of(stage, options.rounds))))
    return {
        "command": " ".join(["python", "bench/decode_walls.py", *sys.argv[1:]]),
        "rows": [asdict(row) for row in rows],
        "machine": machine(),
    }


def rounds_of(stage: Path, number: int) -> Iterator[list[Round]]:
    """Let all processes decode at once, several times; the first time does not count."""
    shares = range(PROCESSES)
    with ProcessPoolExecutor(PROCESSES, get_context("spawn")) as pool:
        for turn in range(number + 1):
            tell(f"round {turn} of {number}: {stage.name}")
            found = list(pool.map(play, [stage] * PROCESSES, shares))
            if turn > 0:
                yield found


def walls_of(config: str, rounds: Sequence[Sequence[Round]]) -> Walls:
    """Medians of what all processes did over what all of them took."""

    def median(above: str, below: str) -> float:
        ratios: list[float] = [
            sum(getattr(each, above) for each in found)
            / sum(getattr(each, below) for each in found)
            for found in rounds
        ]
        return statistics.median(ratios)

    return Walls(
        config,
        tokens_per_second=round(PROCESSES * median("tokens", "seconds"), 1),
        kernels=round(median("seconds", "kernels"), 3),
        products=round(median("seconds", "products"), 3),
        gflops=round(PROCESSES * median("operations", "products") / 1e9, 1),
    )


def play(stage: Path, share: int) -> Round:
    """A round of one process."""
    return _player(stage).play(share)


@cache
def _player(stage: Path) -> "Player":
    return Player(stage)


class Player:
    """One process: a model, its requests, and its matrices once more for products alone.

    Args:
        stage: as `stage_random` made it.
    """

    def __init__(self, stage: Path) -> None:
        torch.set_num_threads(1)
        tune_allocator()
        self.searcher = load(stage / RUN, device="cpu").searcher
        self.searcher.stepper.prepare()
        job = Job.read(stage)
        self.decoding = job.decoding(BEAMS[SEARCH], Settings().batch)
        self.requests = list(
            requests(job.sources, self.searcher.specials, self.decoding, workers=PROCESSES)
        )
        run = open_run(stage / RUN)
        assert isinstance(run.config.model, TransformerConfig)
        self.config, self.vocabulary = run.config.model, len(run.tokenisers.target)
        self._packed = cache(lambda outputs, inputs: PackedFloats(torch.rand(outputs, inputs)))

    def play(self, share: int) -> Round:
        mine = self.requests[share::PROCESSES]
        with clocked() as inside:
            started = time.perf_counter()
            found = [
                hypotheses
                for request in mine
                for hypotheses in self.searcher.decode(request, self.decoding, is_watched=False)
            ]
            seconds = time.perf_counter() - started
        shapes = [shape for request in mine for shape in self.products(request)]
        started = time.perf_counter()
        self.multiply(shapes)
        return Round(
            sum(len(best.log_probs) for (best, _), *_ in found),
            seconds,
            inside[0],
            time.perf_counter() - started,
            sum(2 * rows * inputs * outputs for rows, inputs, outputs in shapes),
        )

    def multiply(self, shapes: Sequence[tuple[int, int, int]]) -> None:
        """Nothing but products, from and to the same places again and again."""
        x = torch.rand(max(rows * inputs for rows, inputs, _ in shapes))
        y = torch.empty(max(rows * outputs for rows, _, outputs in shapes))
        for rows, inputs, outputs in shapes:
            self._packed(outputs, inputs)(
                x[: rows * inputs].view(rows, inputs), y[: rows * outputs].view(rows, outputs)
            )

    def products(self, request: Request) -> Iterator[tuple[int, int, int]]:
        """Rows, inputs and outputs of every product of a search that ends at its longest."""
        d, f = self.config.d_model, self.config.d_ff
        read = int(request.source_mask.sum())
        for _ in range(self.config.encoder_layers):
            yield from ((read, d, 3 * d), (read, d, d), (read, d, f), (read, f, d))
        for _ in range(self.config.decoder_layers):
            yield read, d, 2 * d
        for step in range(max(request.max_lengths)):
            rows = len(request.source) * (1 if step == 0 else self.decoding.beam)
            for _ in range(self.config.decoder_layers):
                yield from ((rows, d, 3 * d), (rows, d, d), (rows, d, d), (rows, d, d))
                yield from ((rows, d, f), (rows, f, d))
            yield rows, d, self.vocabulary


@contextmanager
def clocked() -> Iterator[list[float]]:
    """Sum up the seconds that compiled kernels take."""
    plain, spent = kernels.call, [0.0]

    def call(name: str, *arguments: Any) -> None:
        started = time.perf_counter()
        plain(name, *arguments)
        spent[0] += time.perf_counter() - started

    kernels.call = call
    try:
        yield spent
    finally:
        kernels.call = plain


def show(report: Report) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Walls of decoding, beam 4, fp32", caption="medians")
    for name in ("", "tokens/s", "kernels alone", "products alone", "GFLOP/s of these"):
        table.add_column(name, justify="right" if name else "left")
    for row in report["rows"]:
        table.add_row(
            row["config"],
            f"{row['tokens_per_second']:,.0f}",
            f"{row['kernels']:.2f} ×",
            f"{row['products']:.2f} ×",
            f"{row['gflops']:.0f}",
        )
    tell("")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
