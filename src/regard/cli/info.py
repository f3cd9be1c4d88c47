"""`regard info`: what is in a run folder, and whether it is whole."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    from regard.build import Run
    from regard.train.progress import Progress

KINDS = ("best", "averaged", "step")


@dataclass(frozen=True, slots=True)
class CheckpointInfo:
    """One checkpoint of a run.

    Attributes:
        name: of its folder.
        kind: best, averaged, or step: one to go on from.
        step: when it was made.
        bytes: on disk.
        damage: what is wrong with it, if anything is.
        loss: of its validation, if it was kept.
        bleu: of its validation, if there was one.
        is_used: whether translations use it unless told otherwise.
    """

    name: str
    kind: str
    step: int
    bytes: int
    damage: str | None
    loss: float | None
    bleu: float | None
    is_used: bool


@dataclass(frozen=True, slots=True)
class RunInfo:
    """Everything that `regard info` tells.

    Attributes:
        folder: where.
        format_version: of the run folder's layout.
        source_language: if the run file names it.
        target_language: likewise.
        model: the architecture and its shape.
        summary: its shape in a few words.
        parameters: trainable numbers.
        text: the tokeniser's settings.
        source_pieces: size of the source vocabulary.
        target_pieces: size of the target vocabulary.
        steps: taken, out of `total_steps`.
        total_steps: that the run file asks for.
        epochs: passes over the data completed.
        tokens: target tokens learned from.
        seconds: spent training.
        bytes: on disk, everything together.
        checkpoints: oldest first within a kind.
        decoding: how it searches unless told otherwise.
    """

    folder: str
    format_version: int
    source_language: str
    target_language: str
    model: dict[str, Any]
    summary: str
    parameters: int
    text: dict[str, Any]
    source_pieces: int
    target_pieces: int
    steps: int
    total_steps: int
    epochs: int
    tokens: int
    seconds: float
    bytes: int
    checkpoints: tuple[CheckpointInfo, ...]
    decoding: dict[str, Any]

    @property
    def is_whole(self) -> bool:
        return not any(checkpoint.damage for checkpoint in self.checkpoints)


def info(folder: Path, /, *, json: Annotated[bool, Parameter(negative=())] = False) -> int:
    """Say what is in a run folder and check every file in it.

    Exits with 1 if a checkpoint is damaged.

    Args:
        folder: what `regard train` wrote.
        json: print one JSON object instead of tables.
    """
    found = describe(folder)
    if json:
        from json import dumps

        print(dumps({**asdict(found), "is_whole": found.is_whole}, ensure_ascii=False, indent=2))
    else:
        _show(found)
    return 0 if found.is_whole else 1


def describe(folder: Path) -> RunInfo:
    """Gather what there is to tell about a run folder.

    Raises:
        ModelFileError: it is missing, damaged beyond its checkpoints, or not a run folder.
    """
    import torch

    from regard.build import build_model, open_run
    from regard.sealed import FORMAT_VERSION

    run = open_run(folder)
    with torch.device("meta"):  # shapes without numbers: nothing is allocated
        parameters = build_model(run.config.model, run.tokenisers).num_parameters()
    checkpoints = _checkpoints(run)
    progress = _progress(run.folder, checkpoints)
    return RunInfo(
        folder=str(folder),
        format_version=FORMAT_VERSION,  # open_run reads no other
        source_language=run.config.data.source_language,
        target_language=run.config.data.target_language,
        model=asdict(run.config.model),
        summary=run.config.model.summary(),
        parameters=parameters,
        text=asdict(run.config.text),
        source_pieces=len(run.tokenisers.source),
        target_pieces=len(run.tokenisers.target),
        steps=max([progress.step, *(c.step for c in checkpoints if not c.damage)]),
        total_steps=run.config.train.steps,
        epochs=progress.epoch,
        tokens=progress.tokens,
        seconds=progress.seconds,
        bytes=_size(folder),
        checkpoints=tuple(checkpoints),
        decoding=asdict(run.config.decoding),
    )


def _checkpoints(run: "Run") -> list[CheckpointInfo]:
    from regard.errors import ModelFileError
    from regard.loading import choose_checkpoint
    from regard.sealed import verify
    from regard.train.checkpoint import SCORES, checkpoints, read_scores

    try:
        used: Path | None = choose_checkpoint(run)
    except ModelFileError:
        used = None
    found = []
    for kind in KINDS:
        for path in checkpoints(run.folder, kind):
            damage = scores = None
            try:
                verify(path)
            except ModelFileError as error:
                damage = str(error).removeprefix(f"{path}: ")
            else:
                scores = read_scores(path) if (path / SCORES).exists() else None
            found.append(
                CheckpointInfo(
                    name=path.name,
                    kind=kind,
                    step=int(path.name.removeprefix(f"{kind}-")),
                    bytes=_size(path),
                    damage=damage,
                    loss=scores.loss if scores else None,
                    bleu=scores.bleu if scores else None,
                    is_used=path == used,
                )
            )
    return found


def _progress(folder: Path, checkpoints: list[CheckpointInfo]) -> "Progress":
    """Where training stood at the newest step checkpoint that is whole."""
    import json

    from regard.train.checkpoint import PROGRESS
    from regard.train.progress import Progress

    whole = [c for c in checkpoints if c.kind == "step" and not c.damage]
    if not whole:
        return Progress()
    return Progress(**json.loads((folder / whole[-1].name / PROGRESS).read_text("utf-8")))


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


# --------------------------------------------------------------------------------------------------
# What the terminal shows
# --------------------------------------------------------------------------------------------------


def _show(found: RunInfo) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console.print(Text(found.folder, style="bold"), soft_wrap=True)
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    for name, fact in _facts(found).items():
        facts.add_row(name, Text(fact))
    console.print(facts)
    if not found.checkpoints:
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("checkpoint", no_wrap=True)
    for heading in ("loss", "BLEU", "size"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("files", overflow="fold")
    for checkpoint in found.checkpoints:
        style = "red" if checkpoint.damage else "bold" if checkpoint.is_used else ""
        table.add_row(*_cells(checkpoint), style=style)
    console.print()
    console.print(table)


def _facts(found: RunInfo) -> dict[str, str]:
    from regard.train.console import duration

    text = found.text
    source, target = found.source_language or "source", found.target_language or "target"
    vocabulary = (
        f"{found.source_pieces:,} pieces, joint"
        if text["joint"]
        else f"{found.source_pieces:,} source and {found.target_pieces:,} target pieces"
    )
    return {
        "format": f"version {found.format_version}",
        "languages": f"{source} → {target}",
        "architecture": f"{found.model['arch']}: {found.summary}",
        "parameters": f"{found.parameters:,}",
        "tokeniser": f"{text['kind']}, {vocabulary}",
        "trained": (
            f"{found.steps:,} of {found.total_steps:,} steps, {found.epochs:,} epochs, "
            f"{found.tokens:,} target tokens"
        ),
        "time": duration(found.seconds),
        "decoding": _decoding(found.decoding),
        "on disk": _bytes(found.bytes),
    }


def _decoding(settings: dict[str, Any]) -> str:
    if settings["sample"]:
        return (
            f"sampling, temperature {settings['temperature']}, top k {settings['top_k']}, "
            f"top p {settings['top_p']}"
        )
    return f"beam {settings['beam']}, {settings['penalty']} penalty {settings['alpha']}"


def _cells(checkpoint: CheckpointInfo) -> tuple[str, ...]:
    state = checkpoint.damage or ("whole, used to translate" if checkpoint.is_used else "whole")
    return (
        checkpoint.name,
        "–" if checkpoint.loss is None else f"{checkpoint.loss:.3f}",
        "–" if checkpoint.bleu is None else f"{checkpoint.bleu:.1f}",
        _bytes(checkpoint.bytes),
        state,
    )


def _bytes(count: int) -> str:
    size, units = float(count), ["B", "KiB", "MiB", "GiB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    return f"{size:.0f} {units[0]}" if units[0] == "B" else f"{size:.1f} {units[0]}"
