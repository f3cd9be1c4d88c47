"""BLEU: how many of the translation's n-grams the reference has too."""

from sacrebleu.metrics.bleu import BLEU

from regard.metrics.options import TOKENIZE, Tokenize
from regard.metrics.sacre import SacreScorer


def bleu(*, tokenize: Tokenize = TOKENIZE, lowercase: bool = False) -> SacreScorer:
    """BLEU of detokenised text, tokenised by sacreBLEU itself.

        BLEU = BP · exp(¼ Σₙ log pₙ),   BP = min(1, exp(1 − r/c))

    pₙ is the share of the hypotheses' n-grams that are in the reference, n = 1 … 4, no n-gram
    counted more often than the reference has it; c and r are the lengths of hypotheses and
    references. Papineni et al. 2002, section 2. A line's score leaves out the n-grams for which
    the line is too short.

    Args:
        tokenize: what a word is, in sacreBLEU's terms; "none" for text tokenised before.
        lowercase: whether case is ignored.
    """
    # force: text that looks tokenised is the caller's choice, not worth a warning a line.
    corpus = BLEU(tokenize=tokenize, lowercase=lowercase, force=True)
    sentence = BLEU(tokenize=tokenize, lowercase=lowercase, force=True, effective_order=True)
    return SacreScorer("BLEU", corpus, sentence)
