"""`regard heads`: what every head of a model does, and what the model loses without it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from regard.cli.progress import bar, warn
from regard.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from regard.api import Translator
    from regard.text.encoded import Encoded

Flag = Parameter(negative=())


def heads(
    *,
    model: Path,
    source: Path,
    target: Path,
    cost: Literal["loss", "bleu", "none"] = "loss",
    limit: int = 200,
    checkpoint: str | None = None,
    device: str = "auto",
    json: Annotated[bool, Flag] = False,
) -> None:
    """Say of every head how it looks, and mask each in turn to see what that costs.

    Entropy in nats, distance and offset in pieces, diagonal from -1 to 1, each the mean over
    the pairs; cost is what masking the head adds to the loss, in nats a piece, or takes from
    BLEU.

    Args:
        model: a run folder.
        source: text, gzipped or not.
        target: its translation, line by line.
        cost: by loss, by the BLEU of greedy translations, which takes longer, or none.
        limit: pairs taken from the beginning of the files.
        checkpoint: best, averaged, last, or a folder's name such as step-500.
        device: auto, cpu, cuda or mps.
        json: print one JSON object.
    """
    from itertools import islice

    from regard.api import load
    from regard.data.corpus import read_pairs
    from regard.lens.forced import encode_pairs

    if limit < 1:
        raise ConfigError(f"--limit {limit}: expected at least 1 pair")
    translator = load(model, checkpoint=checkpoint, device=device, warn=warn)
    texts = list(islice(read_pairs((source, target)), limit))
    if not texts:
        raise ConfigError(f"{source} and {target} have no pair to look at")
    pairs = encode_pairs(
        translator.tokenisers, [pair.source for pair in texts], [pair.target for pair in texts]
    )
    report = _statistics(translator, pairs)
    if cost != "none":
        measure = _loss(translator, pairs) if cost == "loss" else _lost_bleu(translator, pairs)
        _add_costs(report, translator, measure)
    if json:
        from json import dumps

        print(dumps({"pairs": len(pairs), "cost": cost, **report}))
        return
    _print(report, cost)


def _statistics(translator: "Translator", pairs: "list[tuple[Encoded, Encoded]]") -> dict[str, Any]:
    """For each kind the statistics of its heads, the mean over all pairs."""
    from regard.lens.forced import forced_record
    from regard.lens.heads import head_statistics, mean_statistics

    found: dict[Any, list[Any]] = {}
    with bar() as progress:
        task = progress.add_task("looking", total=len(pairs))
        for source, target in pairs:
            record = forced_record(translator.models[0], translator.tokenisers, source, target)
            for kind, statistics in head_statistics(record).items():
                found.setdefault(kind, []).append(statistics)
            progress.advance(task)
    return {"kinds": {kind: mean_statistics(each).to_json() for kind, each in found.items()}}


def _add_costs(
    report: dict[str, Any], translator: "Translator", measure: "Callable[[], float]"
) -> None:
    from regard.lens.masking import head_importance, num_heads

    model = translator.models[0]
    with bar() as progress:
        task = progress.add_task("masking one head at a time", total=1 + num_heads(model))
        whole, costs = head_importance(
            model, measure, progress=lambda num_done: progress.advance(task, num_done)
        )
    report["whole"] = whole
    for kind, changes in costs.items():
        report["kinds"][kind]["cost"] = changes.tolist()


def _loss(
    translator: "Translator", pairs: "list[tuple[Encoded, Encoded]]"
) -> "Callable[[], float]":
    from regard.lens.likelihood import forced_loss

    return lambda: forced_loss(translator.models[0], translator.tokenisers, pairs)


def _lost_bleu(
    translator: "Translator", pairs: "list[tuple[Encoded, Encoded]]"
) -> "Callable[[], float]":
    """−BLEU, so that what is lost is above 0."""
    from regard.metrics.bleu import bleu

    sources, references = [s.text for s, _ in pairs], [t.text for _, t in pairs]

    def measure() -> float:
        found = translator.translate(sources, align=False, beam=1, split_sentences=False)
        translations = [each.text for each in found]
        return -bleu().score(translations, references, samples=0).value

    return measure


def _print(report: dict[str, Any], cost: str) -> None:
    from rich.console import Console
    from rich.table import Table

    names = ["entropy", "distance", "offset", "diagonal", *(["cost"] if cost != "none" else [])]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("kind", "layer", "head", *names):
        table.add_column(heading, justify="left" if heading == "kind" else "right", no_wrap=True)
    for kind, columns in report["kinds"].items():
        for layer, row in enumerate(columns["entropy"]):
            for head in range(len(row)):
                numbers = (f"{columns[name][layer][head]:.3f}" for name in names)
                table.add_row(kind, str(layer + 1), str(head + 1), *numbers)
    console = Console()
    console.print(table)
    if "whole" in report:
        whole = f"loss {report['whole']:.3f}" if cost == "loss" else f"BLEU {-report['whole']:.1f}"
        console.print(f"\nwith all heads: {whole}", highlight=False)
