"""`regard translate`: text in, text out, line by line."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from regard.cli.progress import warn

if TYPE_CHECKING:
    from regard.api import Translator
    from regard.data.lenient import Mended
    from regard.translation import Translation

# Translated together: enough to fill batches, few enough that a pipe sees progress.
CHUNK_LINES = 2000
CHUNK_CHARACTERS = 1_000_000
# Line numbers that a warning lists.
LISTED_LINES = 10

Flag = Parameter(negative=())


def translate(
    text: str | None = None,
    /,
    *,
    model: Annotated[tuple[Path, ...], Parameter(negative=())] = (),
    to: str | None = None,
    file: Path | None = None,
    checkpoint: str | None = None,
    beam: int | None = None,
    n_best: int | None = None,
    penalty: str | None = None,
    alpha: float | None = None,
    coverage: float | None = None,
    consensus: float | None = None,
    replace_unknown: Annotated[bool, Flag] = False,
    sample: Annotated[bool, Flag] = False,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int | None = None,
    prefix: str = "",
    whole_lines: Annotated[bool, Flag] = False,
    json: Annotated[bool, Flag] = False,
    device: str = "auto",
    int8: Annotated[bool, Flag] = False,
    shortlist: Path | None = None,
    workers: int | None = None,
) -> None:
    """Translate a text, a file, or standard input; one line out for every line in.

    Without a text and a file, lines are read from standard input; on a terminal each is
    answered as it is typed. What is not given is taken from the model's run file. What is not
    UTF-8, a control character or a sentence too long for the model is mended by the rules of
    docs/hostile.md and counted on standard error.

    Args:
        text: what to translate.
        model: a run folder; several make an ensemble. Unless given, one that came with Regard.
        to: which of those: en, from French, unless given; fr, from English.
        file: a file to translate, gzipped or not.
        checkpoint: best, averaged, last, or a folder's name such as step-500.
        beam: hypotheses kept at each step; 1 is greedy.
        n_best: translations written a sentence, with --json.
        penalty: length penalty: length or gnmt.
        alpha: its strength.
        coverage: strength of the coverage penalty; 0 is none.
        consensus: above 0, choose the translation that the others of the beam agree with most;
            the greater, the more a probable one counts.
        replace_unknown: write the attended source word in the place of an unknown one.
        sample: draw tokens at random instead of searching.
        temperature: of sampling.
        top_k: sample among the k most probable tokens.
        top_p: sample among the most probable tokens that make up p.
        seed: of sampling.
        prefix: what every translation must begin with.
        whole_lines: do not split a line into sentences.
        json: one JSON object a line, with scores, pieces and word alignment.
        device: auto, cpu, cuda or mps.
        int8: compute in 8-bit integers, on a CPU.
        shortlist: a file of `regard shortlist`; only its candidates are considered.
        workers: batches decoded at a time, one for every core unless given.
    """
    from regard.machine import tune_allocator

    tune_allocator()

    from regard.api import load
    from regard.cli.models import given_or_bundled
    from regard.data.lenient import Mended, lenient_lines, mended_text, opened
    from regard.decoding.workers import num_cores
    from regard.errors import ConfigError

    if text is not None and file is not None:
        raise ConfigError("a text and --file exclude one another; give one")
    given: dict[str, Any] = {
        "beam": beam,
        "n_best": n_best,
        "penalty": penalty,
        "alpha": alpha,
        "coverage": coverage,
        "consensus": consensus,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
    }
    options = {name: value for name, value in given.items() if value is not None}
    options |= {"sample": sample} if sample else {}
    options |= {"replace_unknown": True} if replace_unknown else {}
    options |= {"split_sentences": False} if whole_lines else {}
    if workers is not None and workers < 1:
        raise ConfigError(f"--workers {workers}: expected 1 or more")
    translator = load(
        given_or_bundled(model, to),
        checkpoint=checkpoint,
        device=device,
        int8=int8,
        shortlist=shortlist,
        warn=warn,
    )
    is_on_cpu = translator.models[0].output.weight.device.type == "cpu"
    crew = (workers or num_cores()) if is_on_cpu else 1
    options |= {"prefix": prefix, "align": json, "workers": crew}
    mended = Mended()
    if text is not None:
        _answer(translator, iter([mended_text(text, mended)]), mended, options, json)
    elif file is not None:
        total = None
        if file.is_file():  # a pipe can be read only once
            with opened(file) as stream:
                total = sum(1 for _ in lenient_lines(stream, Mended()))
        with opened(file) as stream:
            _answer(translator, lenient_lines(stream, mended), mended, options, json, total)
    elif sys.stdin.isatty():
        for line in _typed_lines():
            mended = Mended()
            _answer(translator, iter([mended_text(line, mended)]), mended, options, json)
    else:
        _answer(translator, lenient_lines(sys.stdin.buffer, mended), mended, options, json)


def _answer(
    translator: "Translator",
    lines: Iterator[str],
    mended: "Mended",
    options: dict[str, Any],
    as_json: bool,
    total: int | None = None,
) -> None:
    """Write a translation for each line, and then say what had to be done to them."""
    from rich.console import Console
    from rich.progress import Progress

    cut: list[int] = []
    num_done = 0
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("translating", total=total)
        for chunk in _chunks(lines):
            found = translator.translate(chunk, **options)
            _write(found, as_json)
            cut += [n for n, each in enumerate(found, num_done + 1) if each.num_cut]
            num_done += len(chunk)
            bar.advance(task, len(chunk))
    if mended.summary():
        warn(mended.summary())
    if cut:
        warn(_cut_summary(cut, translator.max_pieces or 0))


def _chunks(lines: Iterator[str]) -> Iterator[list[str]]:
    """Lines in groups that fit into memory."""
    chunk: list[str] = []
    num_characters = 0
    for line in lines:
        chunk.append(line)
        num_characters += len(line)
        if len(chunk) == CHUNK_LINES or num_characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, num_characters = [], 0
    if chunk:
        yield chunk


def _cut_summary(lines: list[int], max_pieces: int) -> str:
    """Which lines were too long, and what was done about it."""
    listed = ", ".join(f"{number:,}" for number in lines[:LISTED_LINES])
    more = f" and {len(lines) - LISTED_LINES:,} more" if len(lines) > LISTED_LINES else ""
    return (
        f"a sentence of more than {max_pieces:,} pieces was translated in parts, cut at clause "
        f"marks, else white space, else anywhere: line {listed}{more}"
    )


def _typed_lines() -> Iterator[str]:
    print("Type a sentence; an empty line or Ctrl-D ends.", file=sys.stderr)
    while True:
        try:
            line = input("> ")
        except EOFError:
            return
        if not line.strip():
            return
        yield line


def _write(translations: "list[Translation]", as_json: bool) -> None:
    import json

    from regard.text.normal import CONTROL, without_controls

    for translation in translations:
        if as_json:
            line = json.dumps(translation.to_json(), ensure_ascii=False)
            # Many programs take U+0085 and U+2028 for the end of a line.
            print(CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", line))
        else:
            # One line out for each line in, whatever the model writes.
            print(" ".join(without_controls(translation.text)[0].split()))
    sys.stdout.flush()
