"""`regard road`: every system of the story, on one corpus, in one table."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    from rich.console import Console

    from regard.road.corpus import RaceCorpus
    from regard.road.result import Result

Flag = Parameter(negative=())
Names = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative=())]

# What every learned system is given, unless its own settings say otherwise. The moving average
# makes whatever weights the end of the budget finds good ones.
SETTINGS: dict[str, dict[str, Any]] = {
    "text": {"vocab_size": 6000},
    "train": {"ema": 0.998, "average": 2, "validate_every": 250, "save_every": 250, "keep": 2},
    "decoding": {"beam": 5},
}
QUICK: dict[str, dict[str, Any]] = {
    "text": {"vocab_size": 2000},
    "train": {"ema": 0.98, "average": 2, "validate_every": 100, "save_every": 100, "keep": 2},
    "decoding": {"beam": 4},
}
QUICK_MINUTES = 0.3


def road(
    *,
    corpus: Path | None = None,
    pair: str | None = None,
    budget: float | None = None,
    flops: float | None = None,
    systems: Names = (),
    ensemble: Names = (),
    sentence: str | None = None,
    out: Path = Path("runs/road"),
    quick: Annotated[bool, Flag] = False,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Race the systems that led to the Transformer on one corpus, each with the same budget.

    Stopped at any time (Ctrl-C saves first), the same command goes on. What is measured stays in
    the folder: results.json, table.md, charts, and each system's alignment of one sentence.

    Args:
        corpus: a folder with train, valid and test, as `regard data get` writes it.
        pair: source and target language, the suffixes of its files, such as de-en.
        budget: minutes of training for each system; ablations get half.
        flops: operations of training for each system, instead of minutes.
        systems: only these; see `regard.road.systems` for all.
        ensemble: trained systems that vote, joined by +, such as gru+lstm; again for more.
        sentence: that every system is shown on; the first of the test set unless given.
        out: where everything is kept.
        quick: on the generated phrasebook, with seconds for each system.
        as_json: print results.json instead of the table.
    """
    from rich.console import Console

    from regard.errors import ConfigError
    from regard.machine import tune_allocator

    tune_allocator()
    from regard.road.race import Budget, Race
    from regard.road.systems import find_systems
    from regard.train.console import ConsoleObserver

    if (budget is None) == (flops is None) and not quick:
        raise ConfigError("what may each system spend? give --budget MINUTES or --flops NUMBER")
    if quick and (corpus is not None or flops is not None):
        raise ConfigError("--quick brings its own corpus and budget; leave out --corpus, --flops")
    chosen = find_systems(systems)
    found = _quick_corpus(out) if quick else _corpus(corpus, pair)
    spent = Budget(minutes=QUICK_MINUTES if budget is None and quick else budget or 0.0)
    if flops is not None:
        spent = Budget(flops=flops)
    console = Console(stderr=True)
    race = Race(
        found,
        out,
        spent,
        QUICK if quick else SETTINGS,
        sentence or found.examples("test")[0].source,
        lambda trainer: ConsoleObserver(console, trainer.config, trainer.progress),
    )
    results: list[Result] = []
    for system in chosen:
        console.print(f"[bold]{system.title}[/]", highlight=False)
        result = race.enter(system)
        if result is None:
            console.print("stopped; the same command goes on from here", highlight=False)
            return 128 + (race.stopped_by or 0)
        results.append(result)
        _keep(results, out, found)
    for name in ensemble:
        results.append(race.ensemble(name, find_systems(name.split("+"))))
        _keep(results, out, found)
    _present(results, out, console, as_json)
    return 0


def _corpus(folder: Path | None, pair: str | None) -> "RaceCorpus":
    from regard.errors import ConfigError
    from regard.road.corpus import RaceCorpus

    if folder is None:
        raise ConfigError("which corpus? give --corpus DIR, as `regard data get` writes it")
    return RaceCorpus.of(folder, pair)


def _quick_corpus(out: Path) -> "RaceCorpus":
    from regard.data.corpus import write_pairs
    from regard.data.phrasebook import phrasebook
    from regard.road.corpus import RaceCorpus

    folder = out / "phrasebook"
    splits = phrasebook()
    for name in ("train", "valid", "test"):
        paths = [folder / f"{name}.fr", folder / f"{name}.en"]
        if not all(path.exists() for path in paths):
            write_pairs(paths, getattr(splits, name), force=True)
    return RaceCorpus.of(folder, "fr-en")


def _keep(results: "list[Result]", out: Path, corpus: "RaceCorpus") -> None:
    """Write what there is, so that a race can be looked at while it runs."""
    from regard.machine import fingerprint
    from regard.road.result import Report
    from regard.road.table import markdown

    report = Report(
        command=" ".join(["regard", *sys.argv[1:]]),
        machine=fingerprint(),
        task=corpus.title,
        results=tuple(results),
    )
    report.save(out)
    (out / "table.md").write_text(markdown(results), "utf-8")


def _present(results: "list[Result]", out: Path, console: "Console", is_json: bool) -> None:
    from rich.console import Console

    from regard.road.charts import draw, draw_alignments
    from regard.road.result import REPORT
    from regard.road.table import terminal_table

    for path in [*draw(results, out), *draw_alignments(results, out)]:
        console.print(f"picture: {path}", highlight=False)
    if is_json:
        print((out / REPORT).read_text("utf-8"), end="")
    else:
        Console().print(terminal_table(results))
