"""`regard baseline`: the systems before neural networks, trained in a minute or two."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.data.lenient import Mended
    from regard.statistical.system import Progress, System

app = App(name="baseline", help="Translate as before neural networks: by dictionary or by phrases.")

Flag = Parameter(negative=())


@app.command
def train(
    *,
    source: Path,
    target: Path,
    out: Path,
    kind: Literal["dictionary", "phrases"] = "phrases",
    valid_source: Path | None = None,
    valid_target: Path | None = None,
) -> None:
    """Learn from two parallel files, and write a folder to translate with.

    Args:
        source: text, gzipped or not.
        target: its translation, line by line.
        out: the folder.
        kind: dictionary goes word by word; phrases has a language model and a search.
        valid_source: held-out text, to tune the weights of phrases on.
        valid_target: its translation.
    """
    from regard.data.corpus import read_pairs
    from regard.errors import ModelFileError
    from regard.statistical.system import train_system

    if (valid_source is None) != (valid_target is None):
        raise ConfigError("--valid-source and --valid-target go together; give both or neither")
    if valid_source is not None and kind == "dictionary":
        raise ConfigError("a dictionary has nothing to tune; leave out --valid-source, -target")
    if out.exists():
        raise ModelFileError(f"{out} exists already; remove it or choose another name")
    pairs = list(read_pairs((source, target)))
    valid = []
    if valid_source is not None and valid_target is not None:
        valid = list(read_pairs((valid_source, valid_target)))
    with _bar() as progress:
        train_system(kind, pairs, valid, progress=progress).save(out)


@app.command
def translate(
    folder: Path,
    text: str | None = None,
    /,
    *,
    file: Path | None = None,
    json: Annotated[bool, Flag] = False,
) -> None:
    """Translate a text, a file, or standard input; one line out for every line in.

    Args:
        folder: what `regard baseline train` wrote.
        text: what to translate.
        file: a file to translate, gzipped or not.
        json: one JSON object a line, with words, links and the score.
    """
    from regard.data.lenient import Mended, lenient_lines, mended_text, opened
    from regard.statistical.system import load_system

    if text is not None and file is not None:
        raise ConfigError("a text and --file exclude one another; give one")
    system = load_system(folder)
    mended = Mended()
    if text is not None:
        lines = mended_text(text, mended).split("\n")
    elif file is not None:
        with opened(file) as stream:
            lines = list(lenient_lines(stream, mended))
    else:
        lines = list(lenient_lines(sys.stdin.buffer, mended))
    _answer(system, lines, mended, as_json=json)


def _answer(system: "System", lines: Sequence[str], mended: "Mended", *, as_json: bool) -> None:
    from json import dumps

    with _bar() as progress:
        for number, line in enumerate(lines, start=1):
            found = system.translate_one(line)
            print(dumps(found.to_json()) if as_json else " ".join(found.text.split()))
            progress("translating", number / len(lines))
    if mended.summary():
        print(f"regard: {mended.summary()}", file=sys.stderr)


@contextmanager
def _bar() -> "Iterator[Progress]":
    """A progress bar on standard error, one stage after the other, if somebody can see it."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda stage, share: bar.update(task, description=stage, completed=share)
