"""Prepared products equal the layers that they were made of."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from regard.native import kernels
from regard.nn.int8 import Int8Linear
from regard.nn.product import FEW_PRODUCTS, FloatProduct, product_of


@torch.no_grad()
@pytest.mark.parametrize("is_packed", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", [1, 3, 16, 700])
def test_a_product_is_the_layer_for_few_rows_and_for_many(
    rows: int, bias: bool, is_packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_packed:
        monkeypatch.setattr(kernels, "has_float_products", lambda: False)
    torch.manual_seed(0)
    layer = nn.Linear(96, 130, bias=bias)
    x = torch.randn(rows, 96)
    assert (rows * 96 * 130 >= FEW_PRODUCTS) == (rows == 700)
    torch.testing.assert_close(product_of([layer])(x), layer(x), atol=1e-5, rtol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("int8", [False, True])
def test_layers_side_by_side_are_one_product(int8: bool) -> None:
    torch.manual_seed(0)
    layers: list[nn.Linear | Int8Linear] = [nn.Linear(12, width) for width in (5, 7, 5)]
    if int8:
        layers = [Int8Linear(layer) for layer in layers if isinstance(layer, nn.Linear)]
    x = torch.randn(9, 12)
    apart = torch.cat([layer(x) for layer in layers], 1)
    torch.testing.assert_close(product_of(layers)(x), apart)


@torch.no_grad()
@pytest.mark.parametrize("int8", [False, True])
def test_some_outputs_are_those_of_the_whole(int8: bool) -> None:
    torch.manual_seed(0)
    layer = nn.Linear(12, 30)
    whole = product_of([Int8Linear(layer) if int8 else layer])
    chosen, x = torch.tensor([3, 4, 29]), torch.randn(9, 12)
    torch.testing.assert_close(whole.outputs(chosen)(x), whole(x)[:, chosen])


@torch.no_grad()
def test_without_onednn_a_product_is_a_product(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "has_float_products", lambda: False)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    weight, x = torch.randn(300, 300), torch.randn(300, 300)
    product = FloatProduct(weight, None)
    product.prepare()
    assert torch.equal(product(x), F.linear(x, weight))
