"""oneDNN's products are the products."""

from contextlib import nullcontext
from unittest.mock import patch

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from regard.native.linear import Linear, _Linear, linear
from regard.plain import plain


@given(
    shape=st.lists(st.integers(0, 5), max_size=2),
    sizes=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    has_bias=st.booleans(),
    seed=st.integers(0, 9999),
)
def test_a_layer_and_its_gradients_are_pytorch_s(
    shape: list[int], sizes: tuple[int, int], has_bias: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    layer = Linear(*sizes, bias=has_bias)
    x = torch.randn(*shape, sizes[0], requires_grad=True)
    outer = torch.randn(*shape, sizes[1])
    found = []
    for product in (layer(x), nn.functional.linear(x, layer.weight, layer.bias)):
        gradients = torch.autograd.grad(product, [x, *layer.parameters()], outer)
        found.append([product, *gradients])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_only_the_gradients_that_are_wanted_are_made() -> None:
    layer = Linear(3, 4)
    layer.weight.requires_grad_(False)
    layer(torch.randn(2, 3)).sum().backward()
    assert layer.weight.grad is None
    assert layer.bias.grad is not None


@pytest.mark.parametrize("why", ["", "plain", "double", "autocast"])
def test_pytorch_takes_what_is_not_for_onednn(why: str) -> None:
    dtype = torch.float64 if why == "double" else torch.float32
    x, weight = torch.randn(2, 3, dtype=dtype), torch.randn(4, 3, dtype=dtype)
    with (
        plain() if why == "plain" else nullcontext(),
        torch.autocast("cpu", torch.bfloat16, enabled=why == "autocast"),
        patch.object(_Linear, "apply", wraps=_Linear.apply) as apply,
    ):
        linear(x, weight, None)
    assert apply.called == (why == "")
