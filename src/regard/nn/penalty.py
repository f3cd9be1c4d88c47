"""What layers ask to be added to the loss, beside what the output says."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from regard.shapes import Float, Tensor

_penalties: ContextVar[list[Tensor] | None] = ContextVar("penalties", default=None)


@contextmanager
def gathering() -> Iterator[list[Float[Tensor, ""]]]:
    """Gather the penalties of the layers that this thread runs while it is open.

    Parts of a batch run through the same layers in several threads at once: nothing may be left
    on a layer.
    """
    gathered: list[Tensor] = []
    token = _penalties.set(gathered)
    try:
        yield gathered
    finally:
        _penalties.reset(token)


def add_penalty(penalty: Float[Tensor, ""]) -> None:
    """Hand in a penalty, as a part of the loss a token; lost if nobody gathers."""
    gathered = _penalties.get()
    if gathered is not None:
        gathered.append(penalty)
