"""The penalty that pushes heads apart."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.attention import head_diversity_penalty


@settings(deadline=None, max_examples=25)
@given(keys=st.permutations(range(5)))
def test_heads_that_each_look_at_a_key_of_their_own_pay_nothing(keys: list[int]) -> None:
    weights = F.one_hot(torch.tensor(keys[:3]), 5).float().view(1, 3, 1, 5)
    assert head_diversity_penalty(weights).tolist() == [[0.0]]


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_spread_heads_pay(seed: int) -> None:
    scores = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(seed))
    assert (head_diversity_penalty(scores.softmax(-1)) > 0).all()


def test_two_heads_on_the_same_key_pay_two() -> None:
    weights = torch.tensor([[[[0.0, 1.0, 0.0]], [[0.0, 1.0, 0.0]]]])
    assert head_diversity_penalty(weights).item() == pytest.approx(2.0)


def test_the_penalty_of_each_query_is_its_own_squared_frobenius_norm() -> None:
    torch.manual_seed(0)
    weights = torch.rand(2, 3, 4, 5).softmax(-1)  # B H T S
    penalty = head_diversity_penalty(weights)
    for b in range(2):
        for t in range(4):
            a = weights[b, :, t]  # H S
            expected = torch.linalg.matrix_norm(a @ a.T - torch.eye(3)).square()
            torch.testing.assert_close(penalty[b, t], expected)
