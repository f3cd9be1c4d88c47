"""A feed-forward network by products that know ReLU equals one layer after the other."""

from unittest.mock import patch

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.native import linear as linear_module
from regard.native.floats import PackedFloats
from regard.native.linear import FEW_ROWS
from regard.native.pairs import PackedPairs
from regard.native.rectified import rectified
from regard.nn import feed_forward
from regard.nn.feed_forward import FeedForward
from regard.plain import plain
from regard.shapes import Tensor
from tests.native.samples import needs_floats, needs_pairs, numbers, seeds, sizes

precisions = pytest.mark.parametrize(
    "is_low",
    [pytest.param(False, marks=needs_floats), pytest.param(True, marks=needs_pairs)],
    ids=["floats", "bfloat16"],
)


@precisions
@given(rows=sizes, inputs=sizes, outputs=sizes, biased=st.booleans(), seed=seeds)
def test_a_gate_lets_pass_what_is_above_0(
    is_low: bool, rows: int, inputs: int, outputs: int, biased: bool, seed: int
) -> None:
    x, weight = numbers(rows, inputs, seed=seed), numbers(outputs, inputs, seed=seed + 1)
    bias = numbers(outputs, seed=seed + 2) if biased else None
    packed = (PackedPairs if is_low else PackedFloats)(weight, bias)
    product, gate = packed(x), numbers(rows, outputs, seed=seed + 3)
    assert torch.equal(packed(x, gate=gate), torch.where(gate > 0, product, 0))
    place = torch.empty_like(product)
    assert torch.equal(packed(x, place, gate=place), product.relu())


@needs_floats
def test_more_inputs_than_the_cache_holds_are_rectified_once() -> None:
    x, weight = numbers(20, 5001, seed=1), numbers(50, 5001, seed=2)
    packed, place = PackedFloats(weight), torch.empty(20, 50)
    assert torch.equal(packed(x, place, gate=place), packed(x).relu())


@needs_floats
def test_what_is_no_number_stays_none() -> None:
    x = numbers(2, 20, seed=1)
    x[1, 3] = torch.nan
    place = torch.empty(2, 30)
    found = PackedFloats(numbers(30, 20, seed=2))(x, place, gate=place)
    assert found[0].isfinite().all() and found[1].isnan().all()


def learned(network: FeedForward, x: Tensor) -> tuple[Tensor, ...]:
    outer = numbers(*x.shape, seed=9)
    y = network(x)
    return y, *torch.autograd.grad((y * outer).sum(), [x, *network.parameters()])


@precisions
def test_a_network_learns_the_same(is_low: bool) -> None:
    torch.manual_seed(1)
    network, x = FeedForward(24, 40), numbers(3, FEW_ROWS, 24, seed=1).requires_grad_()
    with (
        torch.autocast("cpu", torch.bfloat16, enabled=is_low),
        patch.object(linear_module, "_has_tiles", lambda: False),
    ):
        with patch.object(feed_forward, "rectified", wraps=rectified) as used:
            found = learned(network, x)
        assert used.called
        with patch.object(feed_forward, "can_rectify", lambda *_: False):
            expected = learned(network, x)
    assert all(map(torch.equal, found, expected))
    if not is_low:
        with plain():
            torch.testing.assert_close(found, learned(network, x), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("activation", "dropout", "rows"),
    [("gelu", 0.0, FEW_ROWS), ("relu", 0.5, FEW_ROWS), ("relu", 0.0, FEW_ROWS - 1)],
    ids=["not ReLU", "dropout", "few rows"],
)
def test_all_else_goes_layer_by_layer(
    activation: feed_forward.Activation, dropout: float, rows: int
) -> None:
    network = FeedForward(24, 40, activation, dropout)
    with patch.object(feed_forward, "rectified", wraps=rectified) as used:
        network(numbers(1, rows, 24, seed=1))
    assert not used.called
