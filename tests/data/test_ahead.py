"""What is made ahead is what would have been made."""

import itertools
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.ahead import ahead


@given(items=st.lists(st.integers()), depth=st.integers(1, 5))
def test_the_items_and_their_order_stay(items: list[int], depth: int) -> None:
    assert list(ahead(iter(items), depth)) == items


def test_items_are_made_before_they_are_asked_for() -> None:
    made = threading.Semaphore(0)

    def items() -> Iterator[int]:
        for i in range(3):
            made.release()
            yield i

    stream = ahead(items(), depth=3)
    assert next(stream) == 0
    assert all(made.acquire(timeout=5) for _ in range(3))
    stream.close()


def test_no_more_than_the_depth_is_made_ahead() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for i in itertools.count():
            made.append(i)
            yield i

    stream = ahead(items(), depth=2)
    for _ in range(5):
        next(stream)
    assert len(made) <= 5 + 2 + 1  # one more waits for room
    stream.close()


def test_an_error_arrives_where_the_items_are_used_after_those_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    stream = ahead(items())
    assert next(stream) == 1
    with pytest.raises(ValueError, match="broken"):
        next(stream)


def test_closing_ends_the_thread() -> None:
    stream = ahead(itertools.count())
    next(stream)
    stream.close()
    assert not any(thread.name == "ahead" for thread in threading.enumerate())
