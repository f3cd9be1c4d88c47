"""chrF: characters instead of words, for languages whose words have many forms."""

from sacrebleu.metrics.chrf import CHRF

from regard.metrics.sacre import SacreScorer


def chrf(*, lowercase: bool = False) -> SacreScorer:
    """chrF2, the F-score of character n-grams with twice the weight on recall.

        chrF = (1 + β²) · P · R / (β² P + R),   β = 2

    P and R are precision and recall averaged over n = 1 … 6, spaces left out. Popović 2015,
    section 2; β = 2 since Popović 2016.
    """
    return SacreScorer("chrF2", CHRF(lowercase=lowercase))
