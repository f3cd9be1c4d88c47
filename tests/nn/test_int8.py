"""8-bit layers: the kernel is its formula, a row knows no other, files hold what memory does."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from regard.nn.embedding import Embedding
from regard.nn.int8 import (
    LARGEST,
    Int8Linear,
    dequantised_tensors,
    int8_product,
    quantise_model,
    quantise_rows,
    quantised_tensors,
)
from regard.plain import plain
from regard.shapes import Tensor

sizes = st.integers(1, 40)


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@given(rows=sizes, width=sizes, outputs=sizes, seed=st.integers(0, 99), has_bias=st.booleans())
def test_the_kernel_equals_the_formula(
    rows: int, width: int, outputs: int, seed: int, has_bias: bool
) -> None:
    x, weight = numbers(rows, width, seed=seed), numbers(outputs, width, seed=seed + 1)
    bias = numbers(outputs, seed=seed + 2) if has_bias else None
    values, scale = quantise_rows(weight)
    fast = int8_product(x, values, scale.squeeze(1), bias)
    with plain():
        formula = int8_product(x, values, scale.squeeze(1), bias)
    torch.testing.assert_close(fast, formula)


@given(rows=st.integers(2, 40), seed=st.integers(0, 99))
def test_a_row_does_not_depend_on_the_others(rows: int, seed: int) -> None:
    layer = Int8Linear(nn.Linear(24, 13))
    x = numbers(rows, 24, seed=seed) * torch.logspace(-3, 3, rows).unsqueeze(1)
    together = layer(x)
    assert all(torch.equal(layer(x[i : i + 1])[0], together[i]) for i in range(rows))


def test_no_number_moves_by_more_than_half_a_step() -> None:
    x = numbers(7, 50)
    values, scale = quantise_rows(x)
    assert (values * scale - x).abs().le(scale / 2 + 1e-6).all()
    assert (values.abs().amax(1) == LARGEST).all()


def test_a_row_of_zeros_stays_one() -> None:
    layer = Int8Linear(nn.Linear(5, 3, bias=False))
    assert torch.equal(layer(torch.zeros(2, 5)), torch.zeros(2, 3))


@given(seed=st.integers(0, 999))
def test_what_was_quantised_is_quantised_to_itself(seed: int) -> None:
    values, scale = quantise_rows(numbers(9, 30, seed=seed))
    assert torch.equal(quantise_rows(values * scale).values, values)


class Little(nn.Module):
    """An embedding that the output layer shares, a layer, and a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = Embedding(11, 6)
        self.inner = nn.Linear(6, 6)
        self.norm = nn.LayerNorm(6)
        self.output = nn.Linear(6, 11, bias=False)
        self.output.weight = self.embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        scores: Tensor = self.output(self.norm(self.inner(self.embedding(tokens))))
        return scores


@torch.no_grad()
def test_a_model_read_from_integers_equals_one_quantised_in_memory() -> None:
    torch.manual_seed(0)
    model, other = Little(), Little()
    stored = quantised_tensors(model, dict(model.named_parameters()))
    assert {n for n, t in stored.items() if t.dtype == torch.int8} == {
        "embedding.weight",
        "inner.weight",
    }
    for name, tensor in dequantised_tensors(stored).items():
        other.get_parameter(name).copy_(tensor)
    tokens = torch.arange(11)
    exact = model(tokens)
    assert quantise_model(model) == quantise_model(other) == 2
    torch.testing.assert_close(model(tokens), other(tokens))
    torch.testing.assert_close(model(tokens), exact, atol=0.1, rtol=0.1)
    assert not torch.equal(model(tokens), exact)


@pytest.mark.parametrize("shape", [(3, 6), (2, 3, 6)])
def test_a_layer_takes_any_number_of_dimensions(shape: tuple[int, ...]) -> None:
    layer = Int8Linear(nn.Linear(6, 4))
    x = numbers(*shape)
    assert torch.equal(layer(x), layer(x.view(-1, 6)).view(*shape[:-1], 4))
