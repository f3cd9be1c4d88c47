"""SIGINT and SIGTERM: finish the step and save; a second one stops at once."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stopping_politely(stop: Callable[[], None]) -> Iterator[list[int]]:
    """While open, the first SIGINT or SIGTERM calls `stop`; the second acts as by default.

    Yields:
        A list that receives the number of the signal that came.
    """
    received: list[int] = []
    before: dict[int, object] = {}

    def handle(number: int, frame: FrameType | None) -> None:
        received.append(number)
        for each in before:
            signal.signal(each, signal.SIG_DFL)
        stop()

    for polite in (signal.SIGINT, signal.SIGTERM):
        before[polite] = signal.signal(polite, handle)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
