"""Training speed and memory: Regard beside the loops people write instead.

    python bench/train_speed.py                    # tiny, small and base; about ten minutes
    python bench/train_speed.py --config tiny      # two minutes
    python bench/train_speed.py --json > results/train_speed.json

The same architecture, the same batches of 4,096 target tokens, label smoothing 0.1, dropout on
embeddings and sub-layer outputs, fp32, clipping, fused Adam; beside them the matrix products of a
step and nothing else, the speed that no loop can reach. Nothing else should be running.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from bars import draw_bars
from workers import (
    Measurement,
    Spread,
    add_delivery,
    deliver,
    machine,
    serve_rounds,
    take_turns,
    tell,
)

ROUNDS = {"tiny": 6, "small": 5, "base": 3}
STEPS = {"tiny": 4, "small": 3, "base": 1}
SYSTEMS = ("regard", "regard-plain", "torch", "transformers")
PRODUCTS = "products"
GEMM = "gemm"
NUM_BATCHES = 8
WARM_UP = {"tiny": 8, "small": 4, "base": 2}


@dataclass(frozen=True, slots=True)
class Row:
    """What one system did with one configuration.

    Attributes:
        config: tiny, small or base.
        system: whose loop.
        tokens_per_second: real target tokens, padding not counted.
        gflops: model operations a second by formula.
        peak_memory: most resident memory of the whole process, in bytes.
    """

    config: str
    system: str
    tokens_per_second: Spread
    gflops: float
    peak_memory: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--config", action="append", choices=tuple(ROUNDS), help="again for more")
    parser.add_argument("--rounds", type=int, help="instead of 6, 5 and 3")
    add_delivery(parser)
    parser.add_argument("--worker", nargs=2, metavar=("SYSTEM", "CONFIG"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(*options.worker)
        return
    report = measure(options.config or tuple(ROUNDS), options.rounds)
    deliver(report, options, show, draw)


def work(system: str, config: str) -> None:
    """One process: a few batches to warm up, then a few steps a round."""
    if system == GEMM:
        from regard.machine import gemm_gflops

        serve_rounds(lambda: {"gflops": gemm_gflops(seconds=1.0)})
        return
    import torch

    from regard.machine import peak_memory
    from regard.models.flops import training_flops
    from train_products import products_step
    from train_systems import CONFIGS, SYSTEMS, VOCABULARY, make_batches

    torch.manual_seed(1)
    vocabulary = VOCABULARY[config]
    batches = make_batches(vocabulary, NUM_BATCHES)
    start = products_step if system == PRODUCTS else SYSTEMS[system]
    step = start(CONFIGS[config], vocabulary)
    for batch in islice(batches, WARM_UP[config]):
        step(batch)
    upcoming = cycle(batches)

    def measure() -> Measurement:
        tokens = flops = 0
        seconds = 0.0
        for batch in islice(upcoming, STEPS[config]):
            lengths = list(
                zip(
                    batch.source_mask.sum(1).tolist(),
                    batch.target_mask.sum(1).tolist(),
                    strict=True,
                )
            )
            started = time.perf_counter()
            step(batch)
            seconds += time.perf_counter() - started
            tokens += int(batch.target_mask.sum())
            flops += training_flops(CONFIGS[config], vocabulary, lengths)
        return {
            "tokens_per_second": tokens / seconds,
            "gflops": flops / seconds / 1e9,
            "peak_memory": peak_memory(),
        }

    serve_rounds(measure)


def measure(configs: Sequence[str], rounds: int | None) -> dict[str, Any]:
    """Let all systems train every configuration; medians, ratios, shares of peak."""
    rows: list[Row] = []
    peaks: list[float] = []
    shares: dict[str, float] = {}
    for config in configs:
        names = (GEMM, *SYSTEMS, PRODUCTS)
        workers = [("--worker", name, config) for name in names]
        results = take_turns(Path(__file__), workers, rounds or ROUNDS[config], tell)
        measured = dict(zip(names, results, strict=True))
        gemm = Spread.of([m["gflops"] for m in measured.pop(GEMM)]).median
        peaks.append(gemm)
        rows += [row_of(config, system, found) for system, found in measured.items()]
        shares[config] = next(r.gflops for r in rows if (r.config, r.system) == (config, "regard"))
        shares[config] = round(shares[config] / gemm, 3)
    return {
        "command": "python bench/train_speed.py "
        + " ".join(f"--config {config}" for config in configs),
        "rows": [asdict(row) for row in rows],
        "ratios": ratios(rows),
        "gemm_gflops": round(max(peaks), 1),
        "gemm_share": shares,
        "machine": machine(),
    }


def row_of(config: str, system: str, found: Sequence[Measurement]) -> Row:
    return Row(
        config,
        system,
        Spread.of([round(m["tokens_per_second"], 1) for m in found]),
        round(Spread.of([m["gflops"] for m in found]).median, 2),
        int(max(m["peak_memory"] for m in found)),
    )


def ratios(rows: Sequence[Row]) -> dict[str, float]:
    """Ours over theirs: speeds above 1 and memories below 1 are good."""
    found: dict[str, float] = {}
    ours = {row.config: row for row in rows if row.system == "regard"}
    for row in rows:
        if row.system == "regard":
            continue
        mine = ours[row.config]
        speed = mine.tokens_per_second.median / row.tokens_per_second.median
        found[f"train.{row.config}.{row.system}"] = round(speed, 3)
        if row.system != PRODUCTS:
            found[f"memory.{row.config}.{row.system}"] = round(
                mine.peak_memory / row.peak_memory, 3
            )
    return found


def show(report: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Training on this machine", caption="medians; spread in brackets")
    for name in ("", "system", "target tokens/s", "Regard is", "GFLOP/s", "peak memory"):
        table.add_column(name, justify="left" if name in ("", "system") else "right")
    previous = None
    for row in report["rows"]:
        if previous not in (None, row["config"]):
            table.add_section()
        speed = row["tokens_per_second"]
        ratio = report["ratios"].get(f"train.{row['config']}.{row['system']}")
        table.add_row(
            row["config"] if row["config"] != previous else "",
            row["system"],
            f"{speed['median']:,.0f} [{speed['low']:,.0f} … {speed['high']:,.0f}]",
            f"{ratio:.2f} ×" if ratio else "",
            f"{row['gflops']:,.0f}",
            f"{row['peak_memory'] / 2**20:,.0f} MiB",
        )
        previous = row["config"]
    tell("")
    console = Console()
    console.print(table)
    shares = ", ".join(f"{name} {share:.0%}" for name, share in report["gemm_share"].items())
    console.print(f"fastest matrix product {report['gemm_gflops']:.0f} GFLOP/s; Regard: {shares}")


def draw(report: dict[str, Any], path: Path) -> None:
    """A panel a configuration."""
    panels = {
        config: [row for row in report["rows"] if row["config"] == config]
        for config in report["gemm_share"]
    }
    draw_bars(panels, path, unit="target tokens a second")


if __name__ == "__main__":
    main()
