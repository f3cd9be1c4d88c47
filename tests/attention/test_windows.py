"""Local attention against loops over positions."""

import math

import pytest
import torch

from regard.attention import LocalMonotonic, LocalPredictive, attend, scaled_dot
from regard.shapes import Tensor

T, S, K, HALF_WIDTH = 5, 9, 4, 2


@pytest.fixture
def tensors() -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    return torch.randn(2, T, K), torch.randn(2, S, K), torch.randn(2, S, K)


@pytest.fixture
def predictive() -> LocalPredictive:
    torch.manual_seed(1)
    return LocalPredictive(K, HALF_WIDTH)


def softmax_inside(scores: Tensor, inside: list[int]) -> Tensor:
    weights = torch.zeros_like(scores)
    powers = scores[inside].exp()
    weights[inside] = powers / powers.sum()
    return weights


def test_local_m_is_a_softmax_over_the_keys_around_each_query(
    tensors: tuple[Tensor, Tensor, Tensor],
) -> None:
    query, keys, values = tensors
    _, weights = attend(query, keys, values, window=LocalMonotonic(HALF_WIDTH))
    scores = scaled_dot(query, keys)
    for b in range(2):
        for t in range(T):
            inside = [s for s in range(S) if t - HALF_WIDTH <= s <= t + HALF_WIDTH]
            torch.testing.assert_close(weights[b, t], softmax_inside(scores[b, t], inside))


def test_a_window_stands_where_the_positions_say(tensors: tuple[Tensor, Tensor, Tensor]) -> None:
    query, keys, values = tensors
    window = LocalMonotonic(HALF_WIDTH)
    everywhere, _ = attend(query, keys, values, window=window)
    one, _ = attend(query[:, 3:4], keys, values, window=window, positions=torch.tensor([3]))
    torch.testing.assert_close(one, everywhere[:, 3:4])


def test_a_window_narrows_the_mask_and_never_widens_it(
    tensors: tuple[Tensor, Tensor, Tensor],
) -> None:
    query, keys, values = tensors
    mask = torch.ones(2, 1, S, dtype=torch.bool)
    mask[1, :, 4:] = False
    _, weights = attend(query, keys, values, mask=mask, window=LocalMonotonic(HALF_WIDTH))
    assert (weights[1, :, 4:] == 0).all()
    scores = scaled_dot(query, keys)
    torch.testing.assert_close(weights[1, 4], softmax_inside(scores[1, 4], [2, 3]))


def test_local_p_is_a_softmax_in_a_predicted_window_times_a_gaussian(
    tensors: tuple[Tensor, Tensor, Tensor], predictive: LocalPredictive
) -> None:
    query, keys, values = tensors
    num_keys = [S, S - 3]
    hidden, position = predictive.hidden.weight.detach(), predictive.position.weight[0].detach()
    mask = torch.arange(S) < torch.tensor(num_keys)[:, None, None]  # B 1 S
    _, weights = attend(query, keys, values, mask=mask, window=predictive)
    scores = scaled_dot(query, keys)
    sigma = HALF_WIDTH / 2
    for b in range(2):
        for t in range(T):
            energy = position @ (hidden @ query[b, t]).tanh()
            centre = num_keys[b] * float(energy.sigmoid())
            inside = [s for s in range(num_keys[b]) if abs(s - centre) <= HALF_WIDTH]
            gaussian = torch.tensor(
                [math.exp(-((s - centre) ** 2) / (2 * sigma**2)) for s in range(S)]
            )
            expected = softmax_inside(scores[b, t], inside) * gaussian
            torch.testing.assert_close(weights[b, t], expected)


def test_the_weights_of_local_p_are_not_normalised_again(
    tensors: tuple[Tensor, Tensor, Tensor], predictive: LocalPredictive
) -> None:
    _, weights = attend(*tensors, window=predictive)
    assert (weights.sum(-1) < 1 - 1e-3).all()


def test_the_predicted_position_is_learned(
    tensors: tuple[Tensor, Tensor, Tensor], predictive: LocalPredictive
) -> None:
    output, _ = attend(*tensors, window=predictive)
    output.square().sum().backward()
    for parameter in predictive.parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0
