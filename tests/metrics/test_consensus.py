"""The translation that the others agree with, by hand."""

import math

import pytest

from regard.metrics.consensus import expected_gleu
from regard.metrics.gleu import sentence_gleu

CANDIDATES = ["a lone one", "the red house", "the red house here"]


def test_each_expects_the_mean_of_what_the_others_would_give_it() -> None:
    split = [each.split() for each in CANDIDATES]
    found = expected_gleu(split, [math.log(each) for each in (4.0, 3.0, 1.0)])
    expected = [
        sum(w / 8 * sentence_gleu(one, other) for w, other in zip((4, 3, 1), split, strict=True))
        for one in split
    ]
    assert found == pytest.approx(expected)


def test_two_that_agree_outdo_one_that_is_more_probable() -> None:
    found = expected_gleu([each.split() for each in CANDIDATES], [-0.8, -1.0, -1.2])
    assert max(found) == found[1]


@pytest.mark.parametrize("shift", [-5_000.0, 0.0, 5_000.0])
def test_weights_are_known_up_to_a_constant(shift: float) -> None:
    split = [each.split() for each in CANDIDATES]
    expected = expected_gleu(split, [-1.0, -2.0, -3.0])
    assert expected_gleu(split, [shift - 1, shift - 2, shift - 3]) == pytest.approx(expected)
