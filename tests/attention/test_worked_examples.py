"""The lectures' worked examples, number by number."""

import math

import pytest
import torch

from regard.attention import MultiHead, Score, attend, dot, inverse_distance, scaled_dot
from regard.shapes import Tensor

SCORES = (6.5, 6.1, 4.5, 3.5, 2.8, 1.9)
STATIONS = ((30.0, 48.0), (31.0, 49.0), (37.0, 44.0), (33.0, 45.0), (34.0, 50.0), (32.0, 45.0))
WEIGHTS = (0.52, 0.37, 0.068, 0.027, 0.013, 0.0054)

INPUTS = torch.tensor([[1.0, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]])
W_KEY = torch.tensor([[0.0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]])
W_QUERY = torch.tensor([[1.0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]])
W_VALUE = torch.tensor([[0.0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]])


def ask_the_weather() -> tuple[Tensor, Tensor]:
    """The estimate and the weights at a place with a station in each of six directions."""
    angles = torch.arange(6) * math.pi / 3
    directions = torch.stack([angles.cos(), angles.sin()], dim=1)
    here = torch.tensor([[4.0, -2.0]])
    stations = here + directions / torch.tensor(SCORES).unsqueeze(1)
    output, weights = attend(here, stations, torch.tensor(STATIONS), score=inverse_distance)
    return output[0], weights[0]


def test_weather_stations_have_the_weights_on_the_slide() -> None:
    _, weights = ask_the_weather()
    assert weights.tolist() == pytest.approx(WEIGHTS, abs=0.02)


def test_the_weather_is_estimated_as_on_the_slide() -> None:
    estimate, _ = ask_the_weather()
    assert estimate.tolist() == pytest.approx((31.0, 48.0), abs=0.1)


@pytest.mark.parametrize(
    ("score", "printed"),
    [
        (dot, [[1.9366, 6.6831, 1.5951], [2.0000, 7.9640, 0.0540], [1.9997, 7.7599, 0.3584]]),
        (
            scaled_dot,
            [[1.8639, 6.3194, 1.7042], [1.9991, 7.8141, 0.2735], [1.9926, 7.4796, 0.7359]],
        ),
    ],
)
def test_self_attention_by_hand_gives_the_printed_numbers(
    score: Score, printed: list[list[float]]
) -> None:
    output, _ = attend(INPUTS @ W_QUERY, INPUTS @ W_KEY, INPUTS @ W_VALUE, score=score)
    torch.testing.assert_close(output, torch.tensor(printed), atol=5e-5, rtol=0)


def num_products(attention: MultiHead, length: int) -> int:
    """Multiply-adds of self-attention over one sentence."""
    projections = (attention.query, attention.key, attention.value, attention.output)
    per_position = sum(p.in_features * p.out_features for p in projections)
    d_keys, d_values = attention.query.out_features, attention.value.out_features
    return length * per_position + length**2 * (d_keys + d_values)


def test_eight_heads_of_64_have_as_many_parameters_as_one_of_512() -> None:
    eight, one = MultiHead(512, 8, d_key=64, d_value=64), MultiHead(512, 1)
    counts = [sum(p.numel() for p in heads.parameters()) for heads in (eight, one)]
    assert counts == [4 * (512 * 512 + 512)] * 2


def test_eight_heads_of_64_take_as_many_products_as_one_of_512() -> None:
    eight, one = MultiHead(512, 8, d_key=64, d_value=64), MultiHead(512, 1)
    assert num_products(eight, 50) == num_products(one, 50) == 50 * 4 * 512**2 + 2 * 50**2 * 512
