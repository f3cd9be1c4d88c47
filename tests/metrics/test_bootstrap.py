"""Bootstrap intervals and the paired test: sacreBLEU's numbers, and a p-value that holds."""

import random
from collections.abc import Callable

import numpy as np
import pytest
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import estimate_ci

from regard.metrics.bleu import bleu
from regard.metrics.bootstrap import Interval, interval_of, resample
from regard.metrics.chrf import chrf
from regard.metrics.exact import ExactMatch
from regard.metrics.paired import paired_bootstrap
from regard.metrics.scorer import Scorer

NUM_LINES = 120


def sentences() -> list[str]:
    words = random.Random(0).choices([f"w{rank}" for rank in range(50)], k=NUM_LINES * 10)
    return [" ".join(words[start : start + 10]) for start in range(0, len(words), 10)]


def corrupt(lines: list[str], rate: float, seed: int) -> list[str]:
    """Replace a share of the words."""
    dice = random.Random(seed)
    return [
        " ".join("x" if dice.random() < rate else word for word in line.split()) for line in lines
    ]


REFERENCES = sentences()
GOOD, POOR = corrupt(REFERENCES, 0.2, seed=1), corrupt(REFERENCES, 0.3, seed=2)


@pytest.mark.parametrize(("make", "theirs"), [(bleu, BLEU()), (chrf, CHRF())])
def test_the_interval_is_sacrebleus(make: Callable[[], Scorer], theirs: Metric) -> None:
    interval = make().score(GOOD, REFERENCES, samples=200).interval
    expected = theirs.corpus_score(GOOD, [REFERENCES], n_bootstrap=200)
    assert interval is not None
    assert (interval.mean, interval.half_width) == pytest.approx(
        (expected._mean, expected._ci), rel=1e-5
    )


def test_nineteen_of_twenty_samples_lie_in_the_interval() -> None:
    values = np.random.default_rng(0).normal(size=2000)
    interval = interval_of(values)
    inside = np.mean((interval.low <= values) & (values <= interval.high))
    assert inside == pytest.approx(0.95, abs=0.001)


def test_a_system_without_variance_has_an_interval_of_no_width() -> None:
    interval = ExactMatch().score(REFERENCES, REFERENCES, samples=50).interval
    assert interval == Interval(mean=100.0, low=100.0, high=100.0)


def test_resampling_twice_draws_the_same_lines() -> None:
    scorer = bleu()
    counts = scorer.count(GOOD, REFERENCES)
    first, second = (resample(scorer.value, counts, samples=20) for _ in range(2))
    assert np.array_equal(first, second)


def test_a_system_does_not_differ_from_itself() -> None:
    test = paired_bootstrap(bleu(), GOOD, GOOD, REFERENCES, samples=100)
    assert (test.difference, test.p_value) == (0, 1)


def test_exchanging_the_systems_turns_the_difference_and_keeps_the_p_value() -> None:
    there = paired_bootstrap(bleu(), GOOD, POOR, REFERENCES, samples=200)
    back = paired_bootstrap(bleu(), POOR, GOOD, REFERENCES, samples=200)
    assert (there.difference, there.p_value) == pytest.approx((-back.difference, back.p_value))


def test_a_much_better_system_is_significantly_better() -> None:
    test = paired_bootstrap(bleu(), GOOD, POOR, REFERENCES, samples=200)
    assert test.difference > 0
    assert test.p_value == pytest.approx(1 / 201)


def test_the_intervals_of_the_difference_are_those_of_the_paired_scores() -> None:
    scorer = chrf()
    pair = [resample(scorer.value, scorer.count(s, REFERENCES), samples=80) for s in (GOOD, POOR)]
    mean, half_width = estimate_ci(pair[0] - pair[1])
    interval = paired_bootstrap(scorer, GOOD, POOR, REFERENCES, samples=80).interval
    assert (interval.mean, interval.half_width) == pytest.approx((mean, half_width))


def test_one_in_twenty_equally_good_systems_seems_significantly_different() -> None:
    # Exchanging lines at random between two systems makes them equally good by construction.
    dice = random.Random(3)
    trials, seeming = 300, 0
    for _ in range(trials):
        pairs = [dice.sample(pair, 2) for pair in zip(GOOD, POOR, strict=True)]
        left, right = map(list, zip(*pairs, strict=True))
        test = paired_bootstrap(ExactMatch(), left, right, REFERENCES, samples=100)
        seeming += test.p_value < 0.05
    assert 0.01 < seeming / trials < 0.09
