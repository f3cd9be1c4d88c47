"""Decoding speed: Regard beside transformers' generate and CTranslate2, on the same weights.

    python bench/decode_speed.py                                  # random weights; half an hour
    python bench/decode_speed.py --config tiny --search beam4     # two minutes
    python bench/decode_speed.py --model runs/mine --file data/phrasebook/test.fr
    python bench/decode_speed.py --model runs/mine --file … --shortlist mine.shortlist
    python bench/decode_speed.py --json > results/decode_speed.json

Weights are exported by `regard.convert`, sentences are given as ids. Random models decode 20
steps a sentence. Every system tries its settings first and is measured with the best. Nothing
else should be running.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
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

CONFIGS = ("tiny", "small", "base")
ALONE = "transformers_alone"  # in one process, where "transformers" may have a pool of ours
SYSTEMS = ("regard", "regard_int8", "transformers", ALONE, "ctranslate2", "ctranslate2_int8")
NARROW = "regard_shortlist"  # in 8-bit integers
BESIDE = {
    "transformers": ("regard",),
    ALONE: ("regard",),
    "ctranslate2": ("regard",),
    "ctranslate2_int8": ("regard_int8", NARROW),
}
"""Which of ours is compared with whom."""
BEAMS = {"greedy": 1, "beam4": 4}
MODES = ("decode", "latency")
# Sentences of a round: a second or more of the faster systems.
NUM_SENTENCES = {"tiny": 512, "small": 384, "base": 96}
NUM_ALONE = 40
ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Row:
    """What one system did with one model and one search.

    Attributes:
        config: tiny, small, base, or a run folder's name.
        search: greedy or beam4.
        mode: decode, all sentences at once; or latency, one at a time.
        system: whose decoder.
        sentences_per_second: of a round; one over the mean latency in the second mode.
        tokens_per_second: written, ends included.
        p50: median seconds of a sentence, in the second mode.
        p95: likewise, of the slow ones.
        settings: the best found: batch, workers, threads.
        memory: most resident memory of one of its processes, in bytes.
    """

    config: str
    search: str
    mode: str
    system: str
    sentences_per_second: Spread
    tokens_per_second: Spread
    p50: float | None
    p95: float | None
    settings: dict[str, int]
    memory: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--config", action="append", choices=CONFIGS, help="again for more")
    parser.add_argument("--search", action="append", choices=tuple(BEAMS), help="again for more")
    parser.add_argument("--mode", action="append", choices=MODES, help="again for more")
    parser.add_argument("--system", action="append", choices=SYSTEMS, help="again for more")
    parser.add_argument("--model", type=Path, help="a trained run folder instead")
    parser.add_argument("--file", type=Path, help="the sentences for --model")
    parser.add_argument("--shortlist", type=Path, help="of --model: another system")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--no-sweep", action="store_true", help="the first settings of each system")
    add_delivery(parser)
    parser.add_argument("--worker", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        system, stage, search, mode, sweep = options.worker
        work(system, Path(stage), BEAMS[search], mode, sweeps=sweep == "sweep")
        return
    if (options.model is None) != (options.file is None):
        parser.error("--model and --file go together")
    if options.shortlist and not options.model:
        parser.error("--shortlist goes with --model")
    deliver(measure(options), options, show, draw)


def work(system: str, stage: Path, beam: int, mode: str, *, sweeps: bool) -> None:
    """One process: try settings, keep the best, then one round whenever asked."""
    from decode_systems import LATENCY_SETTINGS, SYSTEMS, Job
    from regard.machine import peak_memory, tune_allocator

    if system.startswith("regard"):
        tune_allocator()
    rival = SYSTEMS[system]
    sources = Job.read(stage).sources
    alone = mode == "latency"
    if alone:
        sources = sources[:NUM_ALONE]
    candidates = LATENCY_SETTINGS if alone else rival.settings
    seconds = {}
    for settings in candidates if sweeps else candidates[:1]:
        run = rival.open(stage, beam, settings)
        run(sources[:NUM_ALONE])
        seconds[settings] = time_of(run, sources, alone)[0]
    best = min(seconds, key=lambda settings: seconds[settings])
    if len(seconds) > 1:
        run = rival.open(stage, beam, best)
        run(sources[:NUM_ALONE])

    def measure() -> Measurement:
        total, tokens, each = time_of(run, sources, alone)
        found = {
            "sentences_per_second": len(sources) / total,
            "tokens_per_second": tokens / total,
            "memory": peak_memory(),
        }
        if alone:
            found |= {"p50": statistics.median(each), "p95": sorted(each)[int(0.95 * len(each))]}
        return found | {name: float(value) for name, value in asdict(best).items()}

    serve_rounds(measure)


def time_of(
    run: Callable[[Sequence[list[int]]], int], sources: list[list[int]], alone: bool
) -> tuple[float, int, list[float]]:
    """Seconds altogether, tokens written, and the seconds of every call."""
    tokens, each = 0, []
    for given in [[source] for source in sources] if alone else [sources]:
        started = time.perf_counter()
        tokens += run(given)
        each.append(time.perf_counter() - started)
    return sum(each), tokens, each


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Let all systems decode with every model; medians and ratios."""
    rows: list[Row] = []
    configs = [options.model.name] if options.model else options.config or CONFIGS
    asked = (*(options.system or SYSTEMS), *([NARROW] if options.shortlist else []))
    sweep = "first" if options.no_sweep else "sweep"
    with tempfile.TemporaryDirectory() as place:
        for config in configs:
            stage = Path(place) / config
            tell(f"writing the weights of {config}")
            make_stage(config, stage, options)
            for mode in options.mode or MODES:
                systems = [name for name in asked if can_run(name, stage, mode)]
                for search in options.search or BEAMS:
                    workers = [("--worker", s, str(stage), search, mode, sweep) for s in systems]
                    found = take_turns(Path(__file__), workers, options.rounds, tell)
                    rows += [
                        row_of(config, search, mode, system, rounds)
                        for system, rounds in zip(systems, found, strict=True)
                    ]
    return {
        "command": " ".join(["python", "bench/decode_speed.py", *sys.argv[1:]]),
        "rows": [asdict(row) for row in rows],
        "ratios": ratios(rows),
        "machine": machine(),
    }


def make_stage(config: str, stage: Path, options: argparse.Namespace) -> None:
    """In a function of its own, so that the weights leave memory with it."""
    from decode_systems import stage_random, stage_trained

    if options.model:
        stage_trained(options.model, options.file, stage, options.shortlist)
    else:
        stage_random(config, NUM_SENTENCES[config], stage)


def can_run(system: str, stage: Path, mode: str) -> bool:
    """Whether a stage has a system's weights; a pool is nothing to one sentence at a time."""
    from decode_systems import MARIAN

    if system == ALONE and mode == "latency":
        return False
    return not system.startswith("transformers") or (stage / MARIAN).is_dir()


def row_of(config: str, search: str, mode: str, system: str, rounds: Sequence[Measurement]) -> Row:
    def median(name: str) -> float | None:
        return Spread.of([m[name] for m in rounds]).median if name in rounds[0] else None

    return Row(
        config,
        search,
        mode,
        system,
        Spread.of([round(m["sentences_per_second"], 2) for m in rounds]),
        Spread.of([round(m["tokens_per_second"], 1) for m in rounds]),
        median("p50"),
        median("p95"),
        {name: int(rounds[0][name]) for name in ("batch", "workers", "threads")},
        int(max(m["memory"] for m in rounds)),
    )


def ratios(rows: Sequence[Row]) -> dict[str, float]:
    """Ours over theirs, above 1 where we are faster: fp32 beside fp32, int8 beside int8.

    `decode.small.beam4.ctranslate2_int8` compares sentences a second, and
    `latency.small.greedy.ctranslate2` median seconds a sentence. What Regard gains by a shortlist
    ends with `.shortlist`.
    """
    found: dict[str, float] = {}
    of = {(row.config, row.search, row.mode, row.system): row for row in rows}
    for (config, search, mode, system), theirs in of.items():
        for name in BESIDE.get(system, ()):
            ours = of.get((config, search, mode, name))
            if ours is None:
                continue
            if theirs.p50 is not None and ours.p50 is not None:
                ratio = theirs.p50 / ours.p50
            else:
                ratio = ours.sentences_per_second.median / theirs.sentences_per_second.median
            end = ".shortlist" if name == NARROW else ""
            found[f"{mode}.{config}.{search}.{system}{end}"] = round(ratio, 3)
    return found


def show(report: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Decoding on this machine", caption="medians; spread in brackets")
    names = ("", "system", "tokens/s", "p50 / p95 ms", "Regard is", "settings", "memory")
    for name in names:
        table.add_column(name, justify="left" if name in ("", "system", "settings") else "right")
    previous = None
    for row in report["rows"]:
        heading = f"{row['config']} {row['search']} {row['mode']}"
        if previous not in (None, heading):
            table.add_section()
        speed, settings = row["tokens_per_second"], row["settings"]
        key = f"{row['mode']}.{row['config']}.{row['search']}.{row['system']}"
        ratio = report["ratios"].get(key)
        table.add_row(
            heading if heading != previous else "",
            row["system"],
            f"{speed['median']:,.0f} [{speed['low']:,.0f} … {speed['high']:,.0f}]",
            f"{row['p50'] * 1e3:.1f} / {row['p95'] * 1e3:.1f}" if row["p50"] else "",
            f"{ratio:.2f} ×" if ratio else "",
            f"batch {settings['batch']}, {settings['workers']} × {settings['threads']} threads",
            f"{row['memory'] / 2**20:,.0f} MiB",
        )
        previous = heading
    tell("")
    Console(width=130).print(table)


def draw(report: dict[str, Any], path: Path) -> None:
    """A panel for every model and search."""
    rows = [row for row in report["rows"] if row["mode"] == "decode"] or report["rows"]
    panels: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        panels.setdefault(f"{row['config']}, {row['search']}", []).append(row)
    draw_bars(panels, path, unit="tokens a second")


if __name__ == "__main__":
    main()
