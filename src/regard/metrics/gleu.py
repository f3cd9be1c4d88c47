"""Sentence GLEU: a score of one sentence that can be a reward."""

from collections import Counter
from collections.abc import Hashable, Sequence

MAX_ORDER = 4


def sentence_gleu(hypothesis: Sequence[Hashable], reference: Sequence[Hashable]) -> float:
    """The smaller of precision and recall over all n-grams of up to four tokens.

        GLEU = min(precision, recall) = matching n-grams / max(n-grams of either side)

    Wu et al. 2016, section 5. BLEU is made for a corpus: of one sentence its four precisions
    are often zero, and without recall a short answer pays. GLEU is between 0 and 1 and does not
    change when hypothesis and reference change places.
    """
    found, wanted = n_grams(hypothesis), n_grams(reference)
    longest = max(found.total(), wanted.total())
    return (found & wanted).total() / longest if longest else 1.0


def n_grams(tokens: Sequence[Hashable]) -> Counter[tuple[Hashable, ...]]:
    """All n-grams of up to four tokens, and how often each is there."""
    return Counter(
        tuple(tokens[start : start + order])
        for order in range(1, MAX_ORDER + 1)
        for start in range(len(tokens) - order + 1)
    )
