"""What a command tells on standard error while it works."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress


@contextmanager
def bar() -> "Iterator[Progress]":
    """A progress bar, if somebody is there to see it."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as shown:
        yield shown


def warn(line: str) -> None:
    """Say something that is no answer."""
    print(f"regard: {line}", file=sys.stderr)
