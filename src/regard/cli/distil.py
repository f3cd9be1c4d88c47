"""`regard distil`: a corpus in the words of a teacher, for a student to learn from."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from regard.cli.progress import warn

Flag = Parameter(negative=())


def distil(
    *corpus: Path,
    model: Annotated[tuple[Path, ...], Parameter(negative=())],
    out: Annotated[tuple[Path, ...], Parameter(consume_multiple=True, negative=())],
    nearest: Literal["bleu", "chrf"] | None = None,
    with_original: Annotated[bool, Flag] = False,
    checkpoint: str | None = None,
    beam: int | None = None,
    penalty: str | None = None,
    alpha: float | None = None,
    device: str = "auto",
    force: Annotated[bool, Flag] = False,
) -> None:
    """Translate a training corpus with one model or several, and write what a student learns from.

    Each source is translated whole. Those that a model cannot take whole, or answers with nothing,
    are left out. The work can be stopped at any time: the same command goes on with it, from the
    file that it keeps beside its output.

    Args:
        corpus: two parallel files, or one .tsv or .jsonl, or one file of sources alone; gzipped
            or not.
        model: a run folder, the teacher; several make an ensemble.
        out: where to write: two files, or one .tsv or .jsonl.
        nearest: of the hypotheses in the beam take not the most probable but the one nearest to
            the reference, by sentence BLEU or chrF.
        with_original: write the pairs of the corpus too, before the distilled ones.
        checkpoint: best, averaged, last, or a folder's name such as step-500.
        beam: hypotheses kept at each step; 1 is greedy.
        penalty: length penalty: length or gnmt.
        alpha: its strength.
        device: auto, cpu, cuda or mps.
        force: write over files that exist.
    """
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    from regard.api import load
    from regard.data.corpus import Example, layout_of, require_absent, write_pairs
    from regard.distillation import distil as translated

    layout_of(out)
    require_absent(out, force=force)
    sources, references = _read(corpus, needs_target=with_original or nearest is not None)
    given = {"beam": beam, "penalty": penalty, "alpha": alpha}
    translator = load(model, checkpoint=checkpoint, device=device, warn=warn)
    kept = out[-1].with_name(f"{out[-1].name}.kept")
    console = Console(stderr=True)
    columns = *Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("translating", total=len(sources))
        targets = translated(
            translator,
            sources,
            kept,
            references=references,
            nearest=nearest,
            progress=lambda num_done: bar.advance(task, num_done),
            **{name: value for name, value in given.items() if value is not None},
        )
    pairs = [Example(s, t) for s, t in zip(sources, targets, strict=True) if t is not None]
    originals = map(Example, sources, references) if with_original else ()
    count = write_pairs(out, [*originals, *pairs], force=True)
    kept.unlink()
    files = ", ".join(map(str, out))
    print(f"{files}: {count:,} pairs, {len(pairs):,} of them translated by the teacher")
    if len(pairs) < len(sources):
        warn(f"{len(sources) - len(pairs):,} sources were left out: too long, or no translation")


def _read(corpus: tuple[Path, ...], *, needs_target: bool) -> tuple[list[str], list[str]]:
    """Sources and, where there are any, their references."""
    from regard.data.corpus import read_lines, read_pairs
    from regard.errors import ConfigError, DataError

    is_table = corpus and corpus[0].name.removesuffix(".gz").endswith((".tsv", ".jsonl"))
    if len(corpus) == 1 and not is_table:
        if needs_target:
            raise ConfigError("--nearest and --with-original need references; name their file too")
        sources, references = [line for line in read_lines(corpus[0]) if line], []
    else:
        pairs = list(read_pairs(corpus))
        sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    if not sources:
        raise DataError(f"{', '.join(map(str, corpus))}: no sentence to translate")
    return sources, references
