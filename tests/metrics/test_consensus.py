"""The translation that the others agree with, by hand and by its properties."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.metrics.consensus import expected_likeness, shared_n_grams
from regard.metrics.gleu import n_grams

CANDIDATES = [each.split() for each in ("a lone one", "the red house", "the red house here")]
sentences = st.lists(st.lists(st.integers(0, 3), max_size=9), min_size=1, max_size=5)


def test_each_expects_the_mean_of_what_the_others_would_give_it() -> None:
    found = expected_likeness(CANDIDATES, [math.log(weight) for weight in (4.0, 3.0, 1.0)])
    # 6 n-grams, all among the 10 of the longer one.
    assert found == pytest.approx([4 / 8, 3 / 8 + 1 / 8 * 18 / 22, 3 / 8 * 18 / 26 + 1 / 8])


def test_two_that_agree_outdo_one_that_is_more_probable() -> None:
    found = expected_likeness(CANDIDATES, [-0.8, -1.0, -1.2])
    assert max(found) == found[1]


def test_nothing_is_like_nothing_and_like_nothing_else() -> None:
    assert expected_likeness([[], [], ["a"]], [0.0] * 3) == pytest.approx([2 / 3, 2 / 3, 1 / 3])


@pytest.mark.parametrize("shift", [-5_000.0, 0.0, 5_000.0])
def test_weights_are_known_up_to_a_constant(shift: float) -> None:
    expected = expected_likeness(CANDIDATES, [-1.0, -2.0, -3.0])
    found = expected_likeness(CANDIDATES, [shift - 1, shift - 2, shift - 3])
    assert found == pytest.approx(expected)


@given(every=sentences)
def test_all_at_once_is_each_with_each(every: list[list[int]]) -> None:
    expected = [[(n_grams(one) & n_grams(other)).total() for other in every] for one in every]
    assert shared_n_grams(every).tolist() == expected
