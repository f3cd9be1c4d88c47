"""What can be chosen about an alignment; apart, so that the command line need not load numpy."""

from typing import Literal, get_args

Method = Literal["hmm", "model1"]

Symmetrisation = Literal[
    "forward",
    "reverse",
    "intersection",
    "union",
    "grow-diag",
    "grow-diag-final",
    "grow-diag-final-and",
]
SYMMETRISATIONS: tuple[Symmetrisation, ...] = get_args(Symmetrisation)

BOTH_DIRECTIONS: Symmetrisation = "grow-diag-final-and"
"""How two directions are combined unless told otherwise."""
