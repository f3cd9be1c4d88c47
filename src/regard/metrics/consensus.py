"""Consensus: not the most probable translation, but the one that the others agree with most."""

from collections.abc import Hashable, Sequence

import numpy as np

from regard.metrics.gleu import mutual_gleu


def expected_gleu(
    candidates: Sequence[Sequence[Hashable]], log_weights: Sequence[float]
) -> list[float]:
    """The GLEU that each of several translations of one sentence may expect.

        s(h) = Σ_r p(r) GLEU(h, r)

    If each candidate r were the reference with probability p(r), s(h) is what h would score in
    the mean; to choose the greatest is minimum Bayes risk with a loss of 1 − GLEU (Kumar &
    Byrne 2004, equation 1). The most probable of a beam may be a lone one, probable as a
    whole; a reader is content with a sentence most of which is right.

    Args:
        candidates: their tokens.
        log_weights: log p(r) of each, up to a constant.
    """
    weights = np.exp(np.asarray(log_weights) - max(log_weights))
    expected: list[float] = (mutual_gleu(candidates) @ (weights / weights.sum())).tolist()
    return expected
