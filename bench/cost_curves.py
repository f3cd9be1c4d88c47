"""Time and memory of a training step as sentences, layers and batches grow.

    python bench/cost_curves.py                                     # tables; ten minutes
    python bench/cost_curves.py --json > results/cost_curves.json
    python bench/cost_curves.py --picture docs/pictures/cost.png

The textbook says that a self-attention layer costs n²·d for the comparisons and n·d² for the
projections, and that a plain one stores n² weights a head. Each point is measured in a process
of its own: the `tiny` model, fp32, forwards, backwards and update, best of a few steps.
"""

import argparse
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from workers import Measurement, add_delivery, deliver, machine, serve_rounds, take_turns, tell

TOKENS = 4096
LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048)
LAYERS = (1, 2, 4, 8, 12)
BATCHES = (512, 1024, 2048, 4096, 8192, 16_384)
MODES = ("fast", "plain", "recompute")
STEPS = 3
MIB = 2**20


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement.

    Attributes:
        curve: what grows: length, layers or tokens.
        mode: fast paths, plain formulas, or fast paths with recomputed blocks.
        length: of every sentence, source and target.
        layers: of the encoder and of the decoder.
        tokens: target tokens in the batch.
        seconds: a step takes.
        memory: that the step adds to the process at its peak, in bytes.
        attention_flops: of the step by formula, what grows with n²·d.
        other_flops: what grows with n·d², the output layer included.
    """

    curve: str
    mode: str
    length: int
    layers: int
    tokens: int
    seconds: float
    memory: int
    attention_flops: int
    other_flops: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_delivery(parser)
    parser.add_argument("--quick", action="store_true", help="three points a curve")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        mode, *sizes = options.worker
        work(mode, *map(int, sizes))
        return
    report = measure(step=3 if options.quick else 1)
    deliver(report, options, show, draw)


def work(mode: str, length: int, layers: int, tokens: int) -> None:
    """Measure one point."""
    import contextlib

    import numpy as np
    import torch

    from regard.data.batching import Batch
    from regard.machine import peak_memory, tune_allocator
    from regard.models.transformer import Transformer
    from regard.plain import plain
    from train_systems import VOCABULARY, step_of_trainer

    torch.manual_seed(1)
    if mode != "plain":
        tune_allocator()
    ids = np.random.default_rng(1).integers(4, VOCABULARY["tiny"], (tokens // length, length))
    real = np.ones(ids.shape, dtype=bool)
    batch = Batch(ids, real, ids, ids, real, np.arange(len(ids)))
    with plain() if mode == "plain" else contextlib.nullcontext():
        model = Transformer(config_of(layers, length), VOCABULARY["tiny"], VOCABULARY["tiny"])
        model.recompute_blocks(mode == "recompute")
        step = step_of_trainer(model)
        before = peak_memory()

        def measure() -> Measurement:
            times = []
            for _ in range(STEPS):
                started = time.perf_counter()
                step(batch)
                times.append(time.perf_counter() - started)
            return {"seconds": min(times), "memory": peak_memory() - before}

        serve_rounds(measure)


def config_of(layers: int, length: int) -> Any:
    from train_systems import CONFIGS

    return replace(
        CONFIGS["tiny"], encoder_layers=layers, decoder_layers=layers, max_positions=length
    )


def measure(step: int) -> dict[str, Any]:
    plan = [("length", mode, n, 4, TOKENS) for mode in MODES for n in LENGTHS[::step]]
    plan += [("layers", "fast", 32, layers, TOKENS) for layers in LAYERS[::step]]
    plan += [("tokens", "fast", 32, 4, tokens) for tokens in BATCHES[::step]]
    points = []
    for number, (curve, mode, length, layers, tokens) in enumerate(plan, 1):
        tell(f"point {number} of {len(plan)}: {curve} {mode} {length} {layers} {tokens}")
        worker = ("--worker", mode, str(length), str(layers), str(tokens))
        [[found]] = take_turns(Path(__file__), [worker], 1, lambda line: None)
        attention, other = flops(length, layers, tokens)
        points.append(
            Point(
                curve,
                mode,
                length,
                layers,
                tokens,
                round(found["seconds"], 4),
                int(found["memory"]),
                attention,
                other,
            )
        )
    tell("")
    return {
        "command": "python bench/cost_curves.py",
        "points": [asdict(point) for point in points],
        "machine": machine(),
    }


def flops(length: int, layers: int, tokens: int) -> tuple[int, int]:
    """Operations of a step by formula: what grows with n² · d, and the rest."""
    from regard.models.flops import training_flops
    from train_systems import VOCABULARY

    pairs = [(length, length)] * (tokens // length)
    config = config_of(layers, length)
    total = training_flops(config, VOCABULARY["tiny"], pairs)
    # One position a sentence and as many sentences: the same projections, nothing to compare.
    alone = training_flops(config, VOCABULARY["tiny"], [(1, 1)] * tokens)
    return total - alone, alone


def show(report: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="One training step of the tiny model")
    for name in ("grows", "mode", "length", "layers", "tokens", "seconds", "memory", "n²·d share"):
        table.add_column(name, justify="right")
    for point in report["points"]:
        share = point["attention_flops"] / (point["attention_flops"] + point["other_flops"])
        table.add_row(
            point["curve"],
            point["mode"],
            f"{point['length']:,}",
            str(point["layers"]),
            f"{point['tokens']:,}",
            f"{point['seconds']:.3f}",
            f"{point['memory'] / MIB:,.0f} MiB",
            f"{share:.0%}",
        )
    Console().print(table)


def draw(report: dict[str, Any], path: Path) -> None:
    """Four panels: time and memory against length, time against layers and batch."""
    import matplotlib.pyplot as plt

    colours = {"fast": "#c2410c", "plain": "#64748b", "recompute": "#0f766e"}
    figure, panels = plt.subplots(2, 2, figsize=(9.2, 6.6), layout="constrained")
    of_time, of_memory, of_layers, of_tokens = panels.flat
    for mode, colour in colours.items():
        points = [p for p in report["points"] if (p["curve"], p["mode"]) == ("length", mode)]
        lengths = [p["length"] for p in points]
        of_time.plot(lengths, [p["seconds"] for p in points], "o-", color=colour, label=mode)
        memory = [p["memory"] / MIB for p in points]
        of_memory.plot(lengths, memory, "o-", color=colour, label=mode)
        if mode == "fast":
            rate = points[0]["seconds"] / (points[0]["attention_flops"] + points[0]["other_flops"])
            attention = [rate * p["attention_flops"] for p in points]
            rest = [rate * p["other_flops"] for p in points]
            whole = [a + b for a, b in zip(attention, rest, strict=True)]
            of_time.fill_between(lengths, rest, color="#cbd5e1", label="n·d² by formula")
            of_time.fill_between(lengths, rest, whole, color="#fed7aa", label="n²·d by formula")
    of_time.set(xscale="log", xlabel="sentence length n, 4,096 tokens a batch", ylabel="seconds")
    of_memory.set(xscale="log", yscale="log", xlabel="sentence length n", ylabel="MiB for the step")
    for panel, curve, label in (
        (of_layers, "layers", "encoder and decoder layers, each"),
        (of_tokens, "tokens", "tokens a batch, sentences of 32"),
    ):
        points = [p for p in report["points"] if p["curve"] == curve]
        panel.plot(
            [p[curve] for p in points], [p["seconds"] for p in points], "o-", color=colours["fast"]
        )
        panel.set(xlabel=label, ylabel="seconds", xlim=(0, None), ylim=(0, None))
    for panel in panels.flat:
        panel.spines[["top", "right"]].set_visible(False)
    of_time.set_xticks(LENGTHS, [str(n) for n in LENGTHS])
    of_memory.set_xticks(LENGTHS, [str(n) for n in LENGTHS])
    of_time.legend(frameon=False, fontsize=8)
    of_memory.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
