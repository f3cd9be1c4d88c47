"""A linear layer that learns, by products of our own where there are kernels for them.

y = x Wᵀ + b        ∂x = ∂y W        ∂W = ∂yᵀ x        ∂b = Σ ∂y
"""

from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from regard.machine import has_amx, num_tile_palettes
from regard.native import kernels
from regard.native.floats import PackedFloats
from regard.native.outer import sum_outer_products
from regard.native.pairs import PackedPairs
from regard.shapes import Float, Tensor

# Rows for which it does not pay to pack a matrix.
FEW_ROWS = 64


class Linear(nn.Linear):
    """Equals `nn.Linear`, but that gradients have none of their own."""

    def forward(self, input: Float[Tensor, "*B D"]) -> Float[Tensor, "*B F"]:
        return linear(input, self.weight, self.bias)


def linear(
    x: Float[Tensor, "*B D"], weight: Float[Tensor, "F D"], bias: Float[Tensor, "F"] | None
) -> Float[Tensor, "*B F"]:
    """Equals `F.linear`; where something is learned from many rows, by kernels of our own.

    Under autocast they multiply in bfloat16 and give floats.
    """
    is_learning = torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad)
    is_low = torch.is_autocast_enabled("cpu")
    if not is_learning or not can_multiply(x, weight, is_low=is_low):
        return F.linear(x, weight, bias)
    product: Tensor = _Linear.apply(x.float(), weight, bias, is_low)  # type: ignore[no-untyped-call]
    return product


def can_multiply(x: Float[Tensor, "*B D"], weight: Float[Tensor, "F D"], *, is_low: bool) -> bool:
    """Whether there are kernels for this product, and they pay.

    Args:
        x: rows of inputs.
        weight: the matrix.
        is_low: the product is in bfloat16. With AMX oneDNN is faster.
    """
    is_simple = x.is_cpu and weight.is_cpu and weight.dtype == torch.float32
    if not is_simple or x.numel() < FEW_ROWS * x.shape[-1]:
        return False
    if is_low:
        return kernels.has_pair_products() and not _has_tiles()
    return x.dtype == torch.float32 and kernels.has_float_products()


@cache
def _has_tiles() -> bool:
    """Whether the processor has AMX, and it works."""
    return has_amx() and bool(num_tile_palettes())


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, is_low: bool) -> Tensor:
        rows = x.flatten(0, -2).contiguous()
        ctx.save_for_backward(rows, weight)
        ctx.is_low = is_low
        product = rows.new_empty(*x.shape[:-1], len(weight))
        _packed(is_low)(weight, bias)(rows, product.view(len(rows), -1))
        return product

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight = ctx.saved_tensors
        flat = gradient.flatten(0, -2).contiguous()
        needs_x, needs_weight, needs_bias, _ = ctx.needs_input_grad
        d_x = d_weight = d_bias = None
        if needs_x:
            d_x = _packed(ctx.is_low)(weight, is_turned=True)(flat)
            d_x = d_x.view(*gradient.shape[:-1], weight.shape[1])
        if needs_weight:
            d_weight = sum_outer_products(flat, rows, is_low=ctx.is_low)
        if needs_bias:
            d_bias = flat.sum(0)
        return d_x, d_weight, d_bias, None


def _packed(is_low: bool) -> type[PackedFloats]:
    return PackedPairs if is_low else PackedFloats
