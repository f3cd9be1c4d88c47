"""Sentence GLEU: a score of one sentence that can be a reward."""

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

MAX_ORDER = 4


def sentence_gleu(hypothesis: Sequence[Hashable], reference: Sequence[Hashable]) -> float:
    """The smaller of precision and recall over all n-grams of up to four tokens.

        GLEU = min(precision, recall) = matching n-grams / max(n-grams of either side)

    Wu et al. 2016, section 4. BLEU is made for a corpus: of one sentence its four precisions
    are often zero, and without recall a short answer pays. GLEU is between 0 and 1 and does not
    change when hypothesis and reference change places.
    """
    found, wanted = _n_grams(hypothesis), _n_grams(reference)
    longest = max(found.total(), wanted.total())
    return (found & wanted).total() / longest if longest else 1.0


def mutual_gleu(sentences: Sequence[Sequence[Hashable]]) -> NDArray[np.float64]:
    """`sentence_gleu` of every sentence with every other, as a symmetric matrix."""
    found = [_n_grams(sentence) for sentence in sentences]
    columns = {gram: n for n, gram in enumerate(dict.fromkeys(chain.from_iterable(found)))}
    counts = np.zeros((len(found), len(columns)), np.int32)
    own = [[columns[gram] for gram in grams] for grams in found]
    for row, grams in enumerate(found):
        counts[row, own[row]] = list(grams.values())
    matching = [np.minimum(counts[:, own[n]], row[own[n]]).sum(1) for n, row in enumerate(counts)]
    totals = counts.sum(1)
    longest = np.maximum(totals[:, None], totals)
    return np.where(longest > 0, np.stack(matching) / np.maximum(longest, 1), 1.0)


def _n_grams(tokens: Sequence[Hashable]) -> Counter[tuple[Hashable, ...]]:
    return Counter(
        tuple(tokens[start : start + order])
        for order in range(1, MAX_ORDER + 1)
        for start in range(len(tokens) - order + 1)
    )
