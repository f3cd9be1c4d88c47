"""Consensus: not the most probable translation, but the one that the others agree with most."""

from collections.abc import Hashable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from regard.metrics.gleu import n_grams


def expected_likeness(
    candidates: Sequence[Sequence[Hashable]], log_weights: Sequence[float]
) -> list[float]:
    """How like the reference each of several translations of one sentence may expect to be.

        s(h) = Σ_r p(r) · 3 |h ∩ r| / (2 |h| + |r|)

    |·| counts n-grams of up to four tokens. If each candidate r were the reference with
    probability p(r), s(h) is what h would score in the mean; to choose the greatest is minimum
    Bayes risk (Kumar & Byrne 2004). The likeness is Tversky's (1977), where precision
    counts twice as much as recall: then what is chosen is as long as what a search finds. GLEU,
    where both count alike, makes it longer, and precision alone shorter (docs/log.md).

    Args:
        candidates: their tokens.
        log_weights: log p(r) of each, up to a constant.
    """
    weights = np.exp(np.asarray(log_weights) - max(log_weights))
    shared = shared_n_grams(candidates)
    own = shared.diagonal()
    both = 2 * own[:, None] + own
    likeness = np.where(both > 0, 3 * shared / np.maximum(both, 1), 1.0)
    expected: list[float] = (likeness @ (weights / weights.sum())).tolist()
    return expected


def shared_n_grams(sentences: Sequence[Sequence[Hashable]]) -> NDArray[np.int64]:
    """How many n-grams each sentence has in common with each; with itself, all of its own."""
    found = [n_grams(sentence) for sentence in sentences]
    columns = {gram: n for n, gram in enumerate(dict.fromkeys(chain.from_iterable(found)))}
    own = [[columns[gram] for gram in grams] for grams in found]
    counts = np.zeros((len(found), len(columns)), np.int64)
    for row, grams in enumerate(found):
        counts[row, own[row]] = list(grams.values())
    return np.stack(
        [np.minimum(counts[:, own[n]], row[own[n]]).sum(1) for n, row in enumerate(counts)]
    )
