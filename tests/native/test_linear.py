"""A linear layer by kernels of our own equals PyTorch's, in values and gradients."""

from unittest.mock import patch

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from regard.native import kernels
from regard.native import linear as module
from regard.native.floats import PackedFloats
from regard.native.linear import FEW_ROWS, Linear, can_multiply, linear
from regard.native.outer import DEPTH, sum_outer_products
from regard.native.pairs import PackedPairs
from regard.plain import plain
from regard.shapes import Tensor
from tests.native.samples import needs_floats, needs_pairs, numbers, seeds, sizes

precisions = pytest.mark.parametrize(
    "is_low",
    [pytest.param(False, marks=needs_floats), pytest.param(True, marks=needs_pairs)],
    ids=["floats", "bfloat16"],
)
rows_of_gradients = st.integers(0, 3 * DEPTH)


def rounded(x: Tensor, is_low: bool) -> Tensor:
    """As a kernel reads it, in a precision in which PyTorch's own rounding does not matter."""
    return (x.bfloat16() if is_low else x).double()


def packed(is_low: bool) -> type[PackedFloats]:
    return PackedPairs if is_low else PackedFloats


def assert_close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected.float(), atol=2e-4, rtol=1e-5)


@precisions
@given(rows=sizes, inputs=sizes, outputs=sizes, biased=st.booleans(), seed=seeds)
def test_products(
    is_low: bool, rows: int, inputs: int, outputs: int, biased: bool, seed: int
) -> None:
    x, weight = numbers(rows, inputs, seed=seed), numbers(outputs, inputs, seed=seed + 1)
    bias = numbers(outputs, seed=seed + 2) if biased else None
    found = packed(is_low)(weight, bias)(x)
    low_x, low_weight = rounded(x, is_low), rounded(weight, is_low)
    assert_close(found, F.linear(low_x, low_weight, None if bias is None else bias.double()))
    place = torch.full_like(found, torch.nan)
    assert packed(is_low)(weight, bias)(x, place) is place and torch.equal(place, found)


@precisions
@given(rows=sizes, inputs=sizes, outputs=sizes, seed=seeds)
def test_products_with_the_transpose(
    is_low: bool, rows: int, inputs: int, outputs: int, seed: int
) -> None:
    x, weight = numbers(rows, inputs, seed=seed), numbers(outputs, inputs, seed=seed + 1)
    turned = packed(is_low)(weight.t().contiguous(), is_turned=True)
    assert torch.equal(turned(x), packed(is_low)(weight)(x))


@precisions
def test_more_inputs_than_the_cache_holds(is_low: bool) -> None:
    x, weight, bias = numbers(20, 5001, seed=1), numbers(50, 5001, seed=2), numbers(50, seed=3)
    expected = F.linear(rounded(x, is_low), rounded(weight, is_low), bias.double())
    found = packed(is_low)(weight, bias)(x)
    torch.testing.assert_close(found, expected.float(), atol=2e-3, rtol=1e-5)


@precisions
@pytest.mark.parametrize("threads", [1, 2])
@given(count=rows_of_gradients, rows=st.integers(1, 300), columns=sizes, seed=seeds)
def test_outer_products(
    is_low: bool, threads: int, count: int, rows: int, columns: int, seed: int
) -> None:
    left, right = numbers(count, rows, seed=seed), numbers(count, columns, seed=seed + 1)
    expected = rounded(left, is_low).T @ rounded(right, is_low)
    with patch.object(torch, "get_num_threads", lambda: threads):
        found = sum_outer_products(left, right, is_low=is_low)
        assert_close(found, expected)
        total = numbers(rows, columns, seed=seed + 2)
        left_sum = numbers(rows, seed=seed + 3)
        expected_sum = left_sum + left.double().sum(0)
        added = sum_outer_products(left, right, total.clone(), left_sum, is_low=is_low)
    assert_close(added, total + expected)
    assert_close(left_sum, expected_sum)


@precisions
@pytest.mark.parametrize("biased", [False, True])
def test_a_layer_learns_the_same(is_low: bool, biased: bool) -> None:
    layer = Linear(24, 40, bias=biased)
    x = numbers(5, 30, 24, seed=1).requires_grad_()
    outer = numbers(5, 30, 40, seed=2)
    leaves = [x, *layer.parameters()]
    with (
        torch.autocast("cpu", torch.bfloat16, enabled=is_low),
        patch.object(module, "_has_tiles", lambda: False),
    ):
        found = layer(x)
        d_x, d_weight, *d_bias = torch.autograd.grad(found, leaves, outer)
    low_x, low_weight, low_outer = (rounded(each, is_low) for each in (x, layer.weight, outer))
    bias = layer.bias.double() if biased else None
    assert_close(found, F.linear(low_x, low_weight, bias))
    assert_close(d_x, low_outer @ low_weight)
    assert_close(d_weight, low_outer.flatten(0, 1).T @ low_x.flatten(0, 1))
    for each in d_bias:
        assert_close(each, outer.sum((0, 1)))


@needs_floats
def test_what_a_layer_gives_may_be_changed_in_its_place() -> None:
    layer, x = Linear(24, 40), numbers(2, FEW_ROWS, 24, seed=1)
    changed = layer(x).relu_()
    (d_weight,) = torch.autograd.grad(changed.sum(), [layer.weight])
    with plain():
        (expected,) = torch.autograd.grad(layer(x).relu().sum(), [layer.weight])
    assert_close(d_weight, expected)


@needs_floats
def test_only_what_is_asked_for_gets_a_gradient() -> None:
    weight = numbers(40, 24, seed=1)
    x = numbers(FEW_ROWS, 24, seed=2).requires_grad_()
    with patch.object(kernels, "call", wraps=kernels.call) as call:
        linear(x, weight, None).sum().backward()
        assert "sum_outer_products" not in {each.args[0] for each in call.mock_calls}
    assert x.grad is not None
    assert_close(x.grad, weight.sum(0).expand_as(x))
    fixed, learned = x.detach(), weight.requires_grad_()
    with patch.object(kernels, "call", wraps=kernels.call) as call:
        linear(fixed, learned, None).sum().backward()
        assert "pack_turned_floats" not in {each.args[0] for each in call.mock_calls}
    assert learned.grad is not None
    assert_close(learned.grad, fixed.sum(0).expand_as(weight))


@pytest.mark.parametrize(
    ("rows", "is_learning", "is_used"),
    [(FEW_ROWS, True, True), (FEW_ROWS - 1, True, False), (FEW_ROWS, False, False)],
    ids=["many", "few", "nothing learned"],
)
@needs_floats
def test_kernels_are_for_learning_from_many_rows(
    rows: int, is_learning: bool, is_used: bool
) -> None:
    layer = Linear(24, 40)
    with (
        torch.set_grad_enabled(is_learning),
        patch.object(module._Linear, "apply", wraps=module._Linear.apply) as apply,
    ):
        layer(numbers(rows, 24, seed=1))
    assert apply.called == is_used


@needs_pairs
def test_onednn_multiplies_in_bfloat16_where_there_is_amx() -> None:
    x, weight = numbers(FEW_ROWS, 24, seed=1), numbers(40, 24, seed=2)
    for has_tiles in (True, False):
        with patch.object(module, "_has_tiles", lambda answer=has_tiles: answer):
            assert can_multiply(x, weight, is_low=True) is not has_tiles


def test_other_numbers_are_left_to_pytorch() -> None:
    x, weight = numbers(FEW_ROWS, 24, seed=1), numbers(40, 24, seed=2)
    assert not can_multiply(x.double(), weight.double(), is_low=False)
    layer = Linear(24, 40).double()
    expected = F.linear(x.double(), layer.weight, layer.bias)
    assert torch.equal(layer(x.double()), expected)
