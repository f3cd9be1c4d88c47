"""Products for outputs that each sentence of a batch has to itself."""

from collections.abc import Callable
from functools import cache

import torch

from regard.native import kernels
from regard.native.integers import PANEL, PackedIntegers, can_pack_integers
from regard.nn.product import FloatProduct, Int8Product, Product
from regard.shapes import Float, Int, Tensor

OwnProduct = Callable[[Float[Tensor, "R D"], Int[Tensor, "B"]], Float[Tensor, "R f"]]
"""Given rows, those of one sentence together, and whose list each sentence uses: its outputs."""

WHOLE = PANEL
"""Of how many entries, or a multiple, the lists must be."""


def own_product(product: Product, own: Int[Tensor, "A f"], counts: Int[Tensor, "A"]) -> OwnProduct:
    """A product of which each sentence has the outputs of a list of its own.

        y_rj = x_r · w_own(j) + b_own(j), −∞ for j beyond the list

    Args:
        product: with all outputs.
        own: lists of outputs, filled up to one length, a multiple of `WHOLE`.
        counts: how many entries of each list count.
    """
    by_kernel = _by_kernel(product, own, counts)
    if by_kernel is None:
        return _of_all(product, own, counts)

    @cache
    def otherwise() -> OwnProduct:
        return _of_all(product, own, counts)

    def multiply(x: Float[Tensor, "R D"], places: Int[Tensor, "B"]) -> Float[Tensor, "R f"]:
        return (by_kernel if kernels.can_take(x) else otherwise())(x, places)

    return multiply


def _by_kernel(
    product: Product, own: Int[Tensor, "A f"], counts: Int[Tensor, "A"]
) -> OwnProduct | None:
    """By a compiled kernel, for rows that it can take; None where there is none."""
    if isinstance(product, Int8Product) and can_pack_integers(product.weight):
        packed = PackedIntegers(product.weight, product.scale, product.bias, own.flatten())
        return lambda x, places: packed.own(x, places, counts)
    if isinstance(product, FloatProduct) and product.is_for_kernel and kernels.has_kernels():
        weight, bias = product.weight, product.bias
        return lambda x, places: kernels.multiply_own_rows(x, weight, bias, own, places, counts)
    return None


def _of_all(product: Product, own: Int[Tensor, "A f"], counts: Int[Tensor, "A"]) -> OwnProduct:
    """The outputs that are in any list, and of these each sentence's."""
    everybody, columns = own.unique(return_inverse=True)
    outputs = product.outputs(everybody)
    is_beyond = torch.arange(own.shape[1], device=own.device) >= counts.unsqueeze(1)  # A f

    def multiply(x: Float[Tensor, "R D"], places: Int[Tensor, "B"]) -> Float[Tensor, "R f"]:
        rows = places.repeat_interleave(len(x) // len(places))
        found = outputs(x).gather(1, columns[rows])
        return found.masked_fill_(is_beyond[rows], -torch.inf)

    return multiply
