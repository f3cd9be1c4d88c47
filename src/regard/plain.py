"""A switch between the formulas as the papers write them and the fast paths equal to them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_is_plain = ContextVar("is_plain", default=False)


@contextmanager
def plain() -> Iterator[None]:
    """Run the plain formulas, for as long as this is open, wherever a fast path stands in.

    Attention stores its weights, dropout draws one float an element, the loss stores its
    logits, projections are one product each, and the optimiser goes parameter by parameter.
    For tests that both agree, and for measuring what the fast paths are worth.
    """
    token = _is_plain.set(True)
    try:
        yield
    finally:
        _is_plain.reset(token)


def is_plain() -> bool:
    """Whether the plain formulas are asked for."""
    return _is_plain.get()
