"""`regard distil`: a corpus in the words of a teacher, for a student to learn from."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from regard.cli.progress import warn

if TYPE_CHECKING:
    from regard.api import Translator
    from regard.data.corpus import Example

Flag = Parameter(negative=())
AGREEMENT = 50.0


def distil(
    *corpus: Path,
    model: Annotated[tuple[Path, ...], Parameter(negative=())],
    out: Annotated[tuple[Path, ...], Parameter(consume_multiple=True, negative=())],
    nearest: Literal["bleu", "chrf"] | None = None,
    back: Path | None = None,
    agreement: float | None = None,
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
        back: a run folder of the opposite direction: it translates the translations back, and those
            that come back changed too much are left out.
        agreement: how near to the source they must come back, in chrF from 0 to 100; 50 unless
            given.
        with_original: write the pairs of the corpus too, before the distilled ones.
        checkpoint: best, averaged, last, or a folder's name such as step-500.
        beam: hypotheses kept at each step; 1 is greedy.
        penalty: length penalty: length or gnmt.
        alpha: its strength.
        device: auto, cpu, cuda or mps.
        force: write over files that exist.
    """
    from regard.api import load
    from regard.data.corpus import Example, layout_of, require_absent, write_pairs
    from regard.distillation import distil as translated
    from regard.errors import ConfigError

    if agreement is not None and back is None:
        raise ConfigError("--agreement is with what comes back; give a model for that with --back")
    agreement = AGREEMENT if agreement is None else agreement
    if not 0 <= agreement <= 100:
        raise ConfigError(f"--agreement {agreement:g} is no chrF; it takes a number from 0 to 100")
    layout_of(out)
    require_absent(out, force=force)
    sources, references = _read(corpus, needs_target=with_original or nearest is not None)
    given = {"beam": beam, "penalty": penalty, "alpha": alpha}
    translator = load(model, checkpoint=checkpoint, device=device, warn=warn)
    returning = None if back is None else _opposite(translator, back, device)
    kept, kept_back = (out[-1].with_name(f"{out[-1].name}.{end}") for end in ("kept", "back"))
    with _progress("translating", len(sources)) as progress:
        targets = translated(
            translator,
            sources,
            kept,
            references=references,
            nearest=nearest,
            progress=progress,
            **{name: value for name, value in given.items() if value is not None},
        )
    pairs = [Example(s, t) for s, t in zip(sources, targets, strict=True) if t is not None]
    if len(pairs) < len(sources):
        warn(f"{len(sources) - len(pairs):,} sources were left out: too long, or no translation")
    if returning is not None:
        pairs = _returned(pairs, returning, agreement, kept_back)
    originals = map(Example, sources, references) if with_original else ()
    count = write_pairs(out, [*originals, *pairs], force=True)
    for done in (kept, kept_back):
        done.unlink(missing_ok=True)
    files = ", ".join(map(str, out))
    print(f"{files}: {count:,} pairs, {len(pairs):,} of them translated by the teacher")


def _opposite(translator: "Translator", folder: Path, device: str) -> "Translator":
    """A model that translates back."""
    from regard.api import load
    from regard.errors import ConfigError

    back = load(folder, device=device, warn=warn)
    there = translator.source_language, translator.target_language
    if (back.target_language, back.source_language) != there:
        raise ConfigError(
            f"--back {folder} translates {back.source_language} → {back.target_language}; expected "
            f"{there[1]} → {there[0]}, the opposite of --model"
        )
    return back


def _returned(
    pairs: "list[Example]", back: "Translator", agreement: float, kept: Path
) -> "list[Example]":
    """The pairs whose translations come back as they were, or nearly so."""
    from regard.distillation import round_trips
    from regard.errors import DataError

    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    with _progress("translating back", len(pairs)) as progress:
        scores = round_trips(back, sources, targets, kept, progress=progress)
    found = [pair for pair, score in zip(pairs, scores, strict=True) if score >= agreement]
    if not found:
        raise DataError(
            f"no translation came back with a chrF of {agreement:g}; the same command with a lower "
            "--agreement goes on with what is translated"
        )
    if len(found) < len(pairs):
        warn(f"{len(pairs) - len(found):,} sources were left out: they came back changed too much")
    return found


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, to be told how many more are done."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    columns = *Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda num_done: bar.advance(task, num_done)


def _read(corpus: tuple[Path, ...], *, needs_target: bool) -> tuple[list[str], list[str]]:
    """Sources and, where there are any, their references."""
    from regard.data.corpus import read_lines, read_pairs
    from regard.errors import ConfigError, DataError

    is_table = corpus and corpus[0].name.removesuffix(".gz").endswith((".tsv", ".jsonl"))
    if len(corpus) == 1 and not is_table:
        if needs_target:
            raise ConfigError("--nearest and --with-original need references; name their file too")
        # Each once: what a file of pairs repeats has another translation there, this has not.
        sources, references = list(dict.fromkeys(filter(None, read_lines(corpus[0])))), []
    else:
        pairs = list(read_pairs(corpus))
        sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    if not sources:
        raise DataError(f"{', '.join(map(str, corpus))}: no sentence to translate")
    return sources, references
