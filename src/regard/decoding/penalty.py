"""Length penalties: without one, beam search prefers short sentences."""

from collections.abc import Callable
from typing import Literal

PenaltyKind = Literal["length", "gnmt"]

Penalty = Callable[[int], float]


def length_penalty(kind: PenaltyKind, alpha: float) -> Penalty:
    """What a log-probability is divided by, as a function of the length.

        length:  lp(Y) = |Y|^α
        gnmt:    lp(Y) = (5 + |Y|)^α / (5 + 1)^α

    The second is Wu et al. 2016, equation 14; Vaswani et al. 2017 use it with α = 0.6.
    |Y| counts the end token.
    """
    if kind == "length":
        return lambda length: float(length) ** alpha
    return lambda length: ((5 + length) / 6) ** alpha


def no_penalty(length: int) -> float:
    """Rank by log-probability alone."""
    return 1.0
