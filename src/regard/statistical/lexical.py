"""Lexical weights: how well the words of a phrase pair translate one another."""

import numpy as np
from jaxtyping import Float64, Int64


def lexical_weights(
    given: Int64[np.ndarray, " G"],
    made: Int64[np.ndarray, " M"],
    given_places: Int64[np.ndarray, " links"],
    made_places: Int64[np.ndarray, " links"],
) -> Float64[np.ndarray, " M"]:
    """The factor of each word of a corpus in the lexical weight of the phrases it stands in.

        w(e | f) = count(f, e) / Σ_e' count(f, e')

        p_w(ē | f̄, a) = Π_j 1/|{i : (i, j) ∈ a}| · Σ_{(i, j) ∈ a} w(e_j | f_i)

    Koehn, Och & Marcu 2003, section 4.4. Links are what is counted; a word without one is
    linked to NULL. A factor depends on a word's links alone, and those of a consistent
    phrase pair all lie inside it, so that p_w is a product of the factors of its words.

    Args:
        given: the words of one side of the corpus, as numbers.
        made: those of the other.
        given_places: for each link its place in `given`.
        made_places: for each link its place in `made`.
    """
    null = int(given.max(initial=-1)) + 1
    is_alone = np.ones(len(made), bool)
    is_alone[made_places] = False
    alone = np.flatnonzero(is_alone)
    f = np.concatenate([given[given_places], np.full(len(alone), null)])
    places = np.concatenate([made_places, alone])
    width = int(made.max(initial=0)) + 1
    _, inverse, counts = np.unique(
        f * width + made[places], return_inverse=True, return_counts=True
    )
    weights = counts[inverse] / np.bincount(f)[f]
    return np.bincount(places, weights, len(made)) / np.bincount(places, minlength=len(made))
