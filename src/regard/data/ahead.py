"""Work done ahead of its use, in a thread."""

import contextlib
import queue
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Item(Generic[T]):
    value: T


@dataclass(frozen=True, slots=True)
class _End:
    """Nothing more comes: all is said, or this was raised."""

    error: BaseException | None


def ahead(items: Iterator[T], depth: int = 8) -> Generator[T, None, None]:
    """The same items in the same order, up to `depth` of them made before they are asked for.

    An exception of the items is raised where they are used. The thread ends when the items do,
    or when this iterator is closed.
    """
    ready: queue.Queue[_Item[T] | _End] = queue.Queue(depth)
    is_closed = threading.Event()

    def put(item: _Item[T] | _End) -> None:
        while not is_closed.is_set():
            with contextlib.suppress(queue.Full):
                ready.put(item, timeout=0.1)
                break

    def work() -> None:
        error = None
        try:
            for value in items:
                put(_Item(value))
                if is_closed.is_set():
                    return
        except BaseException as raised:
            error = raised
        put(_End(error))

    thread = threading.Thread(target=work, name="ahead", daemon=True)
    thread.start()
    try:
        while isinstance(item := ready.get(), _Item):
            yield item.value
        if item.error is not None:
            raise item.error
    finally:
        is_closed.set()
        thread.join()
