"""TER: how much a person would have to edit."""

from sacrebleu.metrics.ter import TER

from regard.metrics.sacre import SacreScorer


def ter(*, lowercase: bool = False) -> SacreScorer:
    """Translation edit rate; an error, so less is better.

        TER = (insertions + deletions + substitutions + shifts) / reference words

    Snover et al. 2006. Differs from sacreBLEU's default, which ignores case whether
    asked to or not.
    """
    return SacreScorer("TER", TER(case_sensitive=not lowercase), is_error=True)
