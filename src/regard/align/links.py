"""An alignment as a set of links."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Int64

Link = tuple[int, int]
"""A source word and a target word, counted from 0."""

Links = frozenset[Link]


def links_of(choices: Int64[np.ndarray, " J"]) -> Links:
    """The links of one sentence pair: for each target word its source word, from 1; 0 is none."""
    return frozenset((i - 1, j) for j, i in enumerate(choices.tolist()) if i > 0)


def transposed(links: Iterable[Link]) -> Links:
    """The same links with the target first."""
    return frozenset((j, i) for i, j in links)
