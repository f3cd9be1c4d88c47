"""`regard translate`: text in, text out, line by line."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    from regard.api import Translation, Translator
    from regard.data.lenient import ByteStream

# Lines translated together: enough to fill batches, few enough that a pipe sees progress.
CHUNK_LINES = 2000

Flag = Parameter(negative=())


def translate(
    text: str | None = None,
    /,
    *,
    model: Annotated[tuple[Path, ...], Parameter(negative=())],
    file: Path | None = None,
    checkpoint: str | None = None,
    beam: int | None = None,
    n_best: int | None = None,
    penalty: str | None = None,
    alpha: float | None = None,
    sample: Annotated[bool, Flag] = False,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int | None = None,
    prefix: str = "",
    whole_lines: Annotated[bool, Flag] = False,
    json: Annotated[bool, Flag] = False,
    device: str = "auto",
) -> None:
    """Translate a text, a file, or standard input; one line out for every line in.

    Without a text and a file, lines are read from standard input; on a terminal each is
    answered as it is typed. What is not given is taken from the model's run file.

    Args:
        text: what to translate.
        model: a run folder; several make an ensemble.
        file: a file to translate, gzipped or not.
        checkpoint: best, averaged, last, or a folder's name such as step-500.
        beam: hypotheses kept at each step; 1 is greedy.
        n_best: translations written a sentence, with --json.
        penalty: length penalty: length or gnmt.
        alpha: its strength.
        sample: draw tokens at random instead of searching.
        temperature: of sampling.
        top_k: sample among the k most probable tokens.
        top_p: sample among the most probable tokens that make up p.
        seed: of sampling.
        prefix: what every translation must begin with.
        whole_lines: do not split a line into sentences.
        json: one JSON object a line, with scores, pieces and word alignment.
        device: auto, cpu, cuda or mps.
    """
    from regard.api import load
    from regard.data.lenient import Mended, lenient_lines, opened
    from regard.errors import ConfigError
    from regard.text.normal import well_formed

    if text is not None and file is not None:
        raise ConfigError("a text and --file exclude one another; give one")
    given: dict[str, Any] = {
        "beam": beam,
        "n_best": n_best,
        "penalty": penalty,
        "alpha": alpha,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
    }
    options = {name: value for name, value in given.items() if value is not None}
    options |= {"sample": sample} if sample else {}
    options |= {"split_sentences": False} if whole_lines else {}
    translator = load(model, checkpoint=checkpoint, device=device, warn=_warn)
    options |= {"prefix": prefix, "align": json}
    if text is not None:
        _write([translator.translate(well_formed(text), **options)], json)
    elif file is not None:
        total = None
        if file.is_file():  # a pipe can be read only once
            with opened(file) as stream:
                total = sum(1 for _ in lenient_lines(stream, Mended()))
        with opened(file) as stream:
            _translate_lines(translator, stream, options, json, total)
    elif sys.stdin.isatty():
        for line in _typed_lines():
            _write([translator.translate(well_formed(line), **options)], json)
    else:
        _translate_lines(translator, sys.stdin.buffer, options, json, None)


def _translate_lines(
    translator: "Translator",
    stream: "ByteStream",
    options: dict[str, Any],
    as_json: bool,
    total: int | None,
) -> None:
    from itertools import islice

    from rich.console import Console
    from rich.progress import Progress

    from regard.data.lenient import Mended, lenient_lines

    mended = Mended()
    console = Console(stderr=True)
    remaining = lenient_lines(stream, mended)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("translating", total=total)
        while chunk := list(islice(remaining, CHUNK_LINES)):
            _write(translator.translate(chunk, **options), as_json)
            bar.advance(task, len(chunk))
    if mended.summary():
        _warn(mended.summary())


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

    for translation in translations:
        if as_json:
            print(json.dumps(translation.to_json(), ensure_ascii=False))
        else:
            # One line out for each line in, whatever the model writes.
            print(" ".join(translation.text.split()))
    sys.stdout.flush()


def _warn(line: str) -> None:
    print(f"regard: {line}", file=sys.stderr)
