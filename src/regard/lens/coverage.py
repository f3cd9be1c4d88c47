"""The coverage penalty: a translation should have looked at all of its source."""

from collections.abc import Sequence
from dataclasses import replace

from regard.decoding.hypothesis import Hypothesis
from regard.lens.capture import Capture
from regard.lens.record import mean_cross
from regard.shapes import Float, Tensor

# A source piece that nothing looked at costs as much as one that got this much attention.
LEAST = 1e-6


def coverage_penalty(weights: Float[Tensor, "T S"], beta: float) -> float:
    """How much of the source was left out.

        cp(X; Y) = β Σ_s log min(Σ_t α_ts, 1)

    Wu et al. 2016, equation 14: zero when every source piece got a whole target piece's
    attention, negative otherwise.
    """
    return beta * float(weights.sum(0).clamp(LEAST, 1.0).log().sum())


def rank_by_coverage(
    hypotheses: Sequence[Hypothesis], seen: Sequence[Capture], num_source: int, beta: float
) -> list[Hypothesis]:
    """The hypotheses of a search with the penalty in their scores, best first.

        s(Y, X) = log P(Y | X) / lp(Y) + cp(X; Y)

    Wu et al. 2016, equation 14. Finished hypotheses are compared by it; which beginnings a beam
    keeps is decided by log-probability alone, so that the search knows no architecture.

    Args:
        hypotheses: of one sentence.
        seen: what each model looked at while they were searched for.
        num_source: pieces of the source, end token included.
        beta: strength of the penalty.

    Raises:
        ConfigError: no model has cross-attention.
    """
    scored = [
        replace(h, score=h.score + coverage_penalty(mean_cross(seen, h, num_source), beta))
        for h in hypotheses
    ]
    return sorted(scored, key=lambda h: -h.score)
