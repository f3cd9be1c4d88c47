"""Every score against its formula, one query and one key at a time."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from torch import nn

from regard.attention import (
    Additive,
    Bilinear,
    FeedForwardScore,
    Score,
    attend,
    dot,
    inverse_distance,
    scaled_dot,
)
from regard.shapes import Tensor

NUM_QUERIES, NUM_KEYS = 3, 40  # over 25 rows torch.cdist would change its method


def bilinear(score: Bilinear, q: Tensor, k: Tensor) -> Tensor:
    return sum(  # type: ignore[return-value]
        q[i] * score.weight.weight[j, i] * k[j] for i in range(len(q)) for j in range(len(k))
    )


def additive(score: Additive, q: Tensor, k: Tensor) -> Tensor:
    hidden = score.query.weight @ q + score.key.weight @ k + score.key.bias
    return score.energy.weight[0] @ hidden.tanh()


def feed_forward(score: FeedForwardScore, q: Tensor, k: Tensor) -> Tensor:
    stacked = torch.cat([score.query.weight, score.key.weight], dim=1)
    first = (stacked @ torch.cat([q, k]) + score.key.bias).tanh()
    second = (score.hidden.weight @ first + score.hidden.bias).tanh()
    return score.energy.weight[0] @ second


def by_formula(score: Score, q: Tensor, k: Tensor) -> Tensor:
    match score:
        case Bilinear():
            return bilinear(score, q, k)
        case Additive():
            return additive(score, q, k)
        case FeedForwardScore():
            return feed_forward(score, q, k)
    product = (q * k).sum()
    formulas = {
        "dot": product,
        "scaled_dot": product / math.sqrt(len(k)),
        "inverse_distance": 1 / (q - k).square().sum().sqrt(),
    }
    return formulas[getattr(score, "__name__", "")]


@dataclass(frozen=True)
class Case:
    """How to make a score, and the widths that it compares."""

    make: Callable[[], Score]
    d_query: int = 4
    d_key: int = 4


CASES = {
    "dot": Case(lambda: dot),
    "scaled_dot": Case(lambda: scaled_dot),
    "inverse_distance": Case(lambda: inverse_distance),
    "bilinear": Case(lambda: Bilinear(3, 5), 3, 5),
    "additive": Case(lambda: Additive(3, 5, 7), 3, 5),
    "feed_forward": Case(lambda: FeedForwardScore(3, 5, 7), 3, 5),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_score_compares_every_query_with_every_key_by_its_formula(case: Case) -> None:
    torch.manual_seed(0)
    score = case.make()
    query, keys = torch.randn(2, NUM_QUERIES, case.d_query), torch.randn(2, NUM_KEYS, case.d_key)
    slow = torch.stack(
        [by_formula(score, q, k) for b in range(2) for q in query[b] for k in keys[b]]
    )
    torch.testing.assert_close(score(query, keys), slow.view(2, NUM_QUERIES, NUM_KEYS))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_score_passes_true_gradients_to_query_and_key(case: Case) -> None:
    torch.manual_seed(0)
    score = case.make()
    if isinstance(score, nn.Module):
        score.double()
    query = torch.randn(2, case.d_query, dtype=torch.float64, requires_grad=True)
    keys = torch.randn(3, case.d_key, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(score, (query, keys))


@pytest.mark.parametrize("num_keys", [4, NUM_KEYS])
def test_a_short_distance_far_from_the_origin_keeps_its_digits(num_keys: int) -> None:
    torch.manual_seed(0)
    here = torch.full((1, 2), 512.0)
    keys = here + torch.randn(num_keys, 2).sign() / 64
    expected = torch.full((1, num_keys), 64 / math.sqrt(2))
    torch.testing.assert_close(inverse_distance(here, keys), expected)


def test_a_key_that_coincides_with_the_query_takes_all_the_weight() -> None:
    keys = torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]])
    _, weights = attend(keys[1:2], keys, keys, score=inverse_distance)
    assert weights.tolist() == [[0.0, 1.0, 0.0]]


@pytest.mark.parametrize("score", [Additive(3, 4, 5), Bilinear(3, 4)])
def test_keys_may_be_projected_once(score: Additive | Bilinear) -> None:
    query, key = torch.randn(2, 6, 3), torch.randn(2, 7, 4)
    torch.testing.assert_close(score.compare(query, score.project(key)), score(query, key))
