"""Paired bootstrap: whether one system is better than another, or had the luckier lines."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.metrics.bootstrap import Interval, interval_of, resample
from regard.metrics.options import SAMPLES
from regard.metrics.scorer import Scorer


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """The difference between two systems on the same lines.

    Attributes:
        difference: system minus baseline.
        interval: where 95 % of the resampled differences lie.
        p_value: how often a difference at least as large, in either direction, would be seen if
            the two were equally good.
    """

    difference: float
    interval: Interval
    p_value: float


def paired_bootstrap(
    scorer: Scorer,
    system: Sequence[str],
    baseline: Sequence[str],
    references: Sequence[str],
    *,
    samples: int = SAMPLES,
) -> PairedTest:
    """Compare two systems on the same bootstrap samples.

        p = (1 + #{b : |dᵦ − d̄| ≥ |d|}) / (1 + samples)

    d is the difference on the test set, dᵦ that on sample b, d̄ the mean over samples: shifted
    by d̄, the samples show what equally good systems would do. Koehn 2004, with the shift of
    Riezler & Maxwell 2005.

    Differs from sacreBLEU, which takes absolute values before the shift, so that its test is
    nearly one-sided, and gives p = 1 / (1 + samples) to a system compared with itself. The
    difference is measured in docs/scoring.md.
    """
    ours = scorer.count(system, references)
    theirs = scorer.count(baseline, references)
    difference = scorer.value(ours.sum(axis=0)) - scorer.value(theirs.sum(axis=0))
    # Both calls draw the same lines: that is what pairs them.
    sampled = resample(scorer.value, ours, samples=samples) - resample(
        scorer.value, theirs, samples=samples
    )
    num_extreme = int(np.sum(np.abs(sampled - sampled.mean()) >= abs(difference)))
    return PairedTest(
        difference=difference,
        interval=interval_of(sampled),
        p_value=(1 + num_extreme) / (1 + samples),
    )
