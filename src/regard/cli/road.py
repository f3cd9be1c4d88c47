"""`regard road`: every system of the story, on one corpus, in one table."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from regard.cli.train import say
from regard.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from regard.road.terms import Budget
    from regard.road.track import Track

Flag = Parameter(negative=())
Names = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative=())]

# What every learned system is given, unless its own settings say otherwise. The rate falls to
# nothing as the budget ends.
SETTINGS: dict[str, dict[str, Any]] = {
    "text": {"vocab_size": 8000},
    "train": {
        "schedule": "cosine",
        "ema": 0.998,
        "average": 2,
        "validate_every": 500,
        "save_every": 100,
        "keep": 2,
        "stop_on": "bleu",
    },
    "decoding": {"beam": 5},
}
# Added where the papers' BLEU is defined, which ignores capitals.
LOWERED: dict[str, dict[str, Any]] = {
    "text": {"normalise": "lower"},
    "train": {"paper_bleu": True},
}
# The moving average is what is validated at the end: no need to average, and validate, once more.
QUICK: dict[str, dict[str, Any]] = {
    "text": {"vocab_size": 2000},
    "train": {"ema": 0.98, "average": 0, "validate_every": 50, "save_every": 50, "keep": 2},
    "decoding": {"beam": 4},
}
# A race of seconds is over before the usual climb is.
QUICK_OVERRIDES: dict[str, dict[str, Any]] = {"train": {"warmup": 20}}
QUICK_MINUTES = 0.2
QUICK_SIZE = 9_600


def road(
    *,
    corpus: Path | None = None,
    pair: str | None = None,
    budget: float | None = None,
    flops: float | None = None,
    systems: Names = (),
    ensemble: Names = (),
    sentence: str | None = None,
    experiment: Literal["data", "length", "gradient"] | None = None,
    out: Path = Path("runs/road"),
    quick: Annotated[bool, Flag] = False,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Race the systems that led to the Transformer on one corpus, each with the same budget.

    Stopped at any time (Ctrl-C saves first), the same command goes on. What is measured stays in
    the folder: results.json, table.md, charts, and each system's alignment of one sentence.
    With --out alone, a race that is there is shown again, and its charts are drawn anew.

    Args:
        corpus: a folder with train, valid and test, as `regard data get` writes it.
        pair: source and target language, the suffixes of its files, such as de-en.
        budget: minutes of training for each system; ablations get half.
        flops: operations of training for each system, instead of minutes.
        systems: only these; see `regard.road.systems` for all.
        ensemble: trained systems that vote, joined by +, such as gru+lstm; again for more.
        sentence: that every system is shown on; the first of the test set unless given.
        experiment: a few systems and one question instead of the race: how many pairs each needs,
            what becomes of long sentences, or how far back a gradient reaches. Kept in a folder of
            that name; without --corpus, on text that it generates.
        out: where everything is kept.
        quick: on the generated phrasebook, with seconds for each system.
        as_json: print results.json instead of the table.
    """
    from rich.console import Console

    from regard.machine import tune_allocator

    tune_allocator()
    from regard.data.phrasebook import SIZE
    from regard.road.corpus import RaceCorpus
    from regard.road.race import Stopped
    from regard.road.result import RESULTS
    from regard.road.track import Track
    from regard.train.console import ConsoleObserver

    asked = (corpus, pair, budget, flops, sentence, experiment, *systems, *ensemble)
    if not quick and all(each is None for each in asked) and (out / RESULTS).exists():
        _show(out, Console(stderr=True), is_json=as_json)
        return 0
    if quick and (corpus is not None or flops is not None):
        raise ConfigError("--quick brings its own corpus and budget; leave out --corpus, --flops")
    if corpus is None and experiment is None and not quick:
        raise ConfigError("which corpus? give --corpus DIR, as `regard data get` writes it")
    if ensemble and experiment is not None:
        raise ConfigError("--ensemble is of the race; leave it out, or --experiment")
    console = Console(stderr=True)
    raced = None if corpus is None else RaceCorpus.of(corpus, pair)
    track = Track(
        out=out if experiment is None else out / experiment,
        corpus=raced,
        size=QUICK_SIZE if quick else SIZE,
        names=systems,
        budget=_budget(budget, flops, is_quick=quick),
        settings=QUICK if quick else _settings("en" if raced is None else raced.target),
        sentence=sentence,
        display=lambda trainer: ConsoleObserver(console, trainer.config, trainer.progress),
        announce=lambda title: console.print(f"[bold]{title}[/]", highlight=False),
        warn=lambda line: say(console, line),
        overrides=QUICK_OVERRIDES if quick else {},
    )
    try:
        if experiment is None:
            _race(track, ensemble, console, is_json=as_json)
        else:
            from regard.cli.road_experiment import run_experiment

            run_experiment(experiment, track, console, is_json=as_json)
    except Stopped as stopped:
        console.print(str(stopped), highlight=False)
        return 128 + stopped.number
    return 2 if track.left_out else 0


def _budget(minutes: float | None, flops: float | None, *, is_quick: bool) -> "Budget":
    from regard.road.terms import Budget

    if is_quick and minutes is None:
        minutes = QUICK_MINUTES
    if (minutes is None) == (flops is None):
        raise ConfigError("what may each system spend? give --budget MINUTES or --flops NUMBER")
    return Budget(minutes or 0.0, flops or 0.0)


def _settings(target: str) -> dict[str, dict[str, Any]]:
    """What every learned system is given that writes this language."""
    from regard.metrics.paper import paper_language

    if paper_language(target) is None:
        return SETTINGS
    return {name: {**values, **LOWERED.get(name, {})} for name, values in SETTINGS.items()}


def _race(track: "Track", ensembles: Sequence[str], console: "Console", *, is_json: bool) -> None:
    """Enter every system and every ensemble; the folder always shows what is known so far.

    A system that diverges, or whose weights are missing, is left out, and the others go on.
    """
    from regard.data.phrasebook import phrasebook
    from regard.errors import DivergedError, ModelFileError
    from regard.road.race import Stopped
    from regard.road.result import RESULTS
    from regard.road.systems import VOTERS, find_systems, with_bases

    systems = track.systems()
    voters = {name: find_systems(name.split(VOTERS)) for name in ensembles}
    race = track.race_on(phrasebook)
    entries = {system.name: [system] for system in systems} | voters
    try:
        for name, members in entries.items():
            missing = {system.name for system in with_bases(members)} & set(track.left_out)
            try:
                if missing:
                    raise ModelFileError(
                        f"it needs {', '.join(sorted(missing))}, which was left out"
                    )
                if name in voters:
                    track.announce(name)
                    race.ensemble(name, members)
                else:
                    track.enter(race, members[0])
            except (DivergedError, ModelFileError) as error:
                track.leave_out(name, error)
            else:
                _keep(track.out, race.corpus.title)
    except Stopped:
        # What keeps a picture from being drawn is not what ended the race.
        with suppress(ConfigError):
            _draw(track.out, console)
        raise
    if (track.out / RESULTS).exists():
        _show(track.out, console, is_json=is_json)


def _keep(out: Path, task: str) -> None:
    """Write down every system that this race or an earlier part of it has measured."""
    from regard.road.result import keep, read_results
    from regard.road.systems import SYSTEMS
    from regard.road.table import markdown

    results = read_results(out, [system.name for system in SYSTEMS])
    keep(results, markdown(results), out, task)


def _draw(out: Path, console: "Console") -> None:
    from regard.road.charts import draw, draw_alignments
    from regard.road.result import RESULTS, read_report

    if (out / RESULTS).exists():
        results = read_report(out).results
        for path in [*draw(results, out), *draw_alignments(results, out)]:
            say(console, f"picture: {path}")


def _show(out: Path, console: "Console", *, is_json: bool) -> None:
    """A race as it stands: its table or its results, and its charts."""
    from rich.console import Console

    from regard.road.result import RESULTS, read_report
    from regard.road.table import terminal_table

    if is_json:
        print((out / RESULTS).read_text("utf-8"), end="")
    else:
        Console().print(terminal_table(read_report(out).results))
    _draw(out, console)
