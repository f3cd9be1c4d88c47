"""Sentence GLEU, by hand and by its properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.metrics.gleu import sentence_gleu

sentences = st.lists(st.integers(0, 3), max_size=9)


@pytest.mark.parametrize(
    ("hypothesis", "reference", "score"),
    [
        ("a b c d", "a b c d", 1.0),
        ("a b c", "a b c d", 6 / 10),  # 3 + 2 + 1 n-grams of 4 + 3 + 2 + 1: recall
        ("a b c d", "a b c", 6 / 10),  # precision
        ("a a a", "a", 1 / 6),  # a matches once, however often it is said
        ("b a", "a b", 2 / 3),
        ("x y", "a b", 0.0),
        ("", "a", 0.0),
        ("a", "", 0.0),
        ("", "", 1.0),
    ],
)
def test_the_score_of_a_sentence(hypothesis: str, reference: str, score: float) -> None:
    assert sentence_gleu(hypothesis.split(), reference.split()) == pytest.approx(score)


@given(one=sentences, other=sentences)
def test_it_is_symmetric_and_one_for_equals_alone(one: list[int], other: list[int]) -> None:
    score = sentence_gleu(one, other)
    assert 0 <= score <= 1
    assert score == sentence_gleu(other, one)
    assert (score == 1) == (one == other) or len(one) > 4
