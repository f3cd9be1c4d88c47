"""A linear layer that learns, by products of our own where there are kernels for them.

y = x Wᵀ + b        ∂x = ∂y W        ∂W = ∂yᵀ x        ∂b = Σ ∂y
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from regard.machine import has_amx, num_tile_palettes
from regard.native import kernels
from regard.native.outer import sum_outer_products
from regard.native.workspace import are_parameters, pack, stacked, workspace_of
from regard.shapes import Float, Tensor

# Rows for which it does not pay to pack a matrix.
FEW_ROWS = 64


class Linear(nn.Linear):
    """Equals `nn.Linear`, but that gradients have none of their own."""

    def forward(self, input: Float[Tensor, "*B D"]) -> Float[Tensor, "*B F"]:
        return project(input, self)


def project(x: Float[Tensor, "*B D"], *layers: nn.Linear) -> Float[Tensor, "*B F"]:
    """What several layers make of the same x, side by side, in one product.

    All of them have a bias, or none.
    """
    biases = [layer.bias for layer in layers if layer.bias is not None]
    return _linear(x, [layer.weight for layer in layers], biases)


def linear(
    x: Float[Tensor, "*B D"], weight: Float[Tensor, "F D"], bias: Float[Tensor, "F"] | None
) -> Float[Tensor, "*B F"]:
    """Equals `F.linear`; where something is learned from many rows, by kernels of our own.

    Under autocast they multiply in bfloat16 and give floats.
    """
    return _linear(x, [weight], [] if bias is None else [bias])


def _linear(
    x: Float[Tensor, "*B D"],
    weights: Sequence[Float[Tensor, "_ D"]],
    biases: Sequence[Float[Tensor, "_"]],
) -> Float[Tensor, "*B F"]:
    """The same with matrices one below the other."""
    is_learning = torch.is_grad_enabled() and any(each.requires_grad for each in (x, *weights))
    is_low = torch.is_autocast_enabled("cpu")
    if not is_learning or not can_multiply(x, weights[0], is_low=is_low):
        return F.linear(x, stacked(weights), stacked(biases) if biases else None)
    product: Tensor = _Linear.apply(  # type: ignore[no-untyped-call]
        x.float(), is_low, len(weights), *weights, *biases
    )
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
    def forward(
        ctx: Any, x: Tensor, is_low: bool, num_weights: int, *weights_and_biases: Tensor
    ) -> Tensor:
        weights, biases = weights_and_biases[:num_weights], weights_and_biases[num_weights:]
        rows = x.flatten(0, -2).contiguous()
        # Parameters themselves, for what is saved may come back as something equal to it.
        ctx.parameters = weights_and_biases if are_parameters(*weights_and_biases) else ()
        ctx.save_for_backward(rows, *(() if ctx.parameters else weights_and_biases))
        ctx.is_low, ctx.num_weights = is_low, num_weights
        packed = pack(weights, biases, is_low=is_low)
        product = rows.new_empty(*x.shape[:-1], packed.shape[0])
        packed(rows, product.view(len(rows), -1))
        return product

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        rows, *saved = ctx.saved_tensors
        weights_and_biases = list(ctx.parameters or saved)
        weights = weights_and_biases[: ctx.num_weights]
        biases = weights_and_biases[ctx.num_weights :]
        flat = gradient.flatten(0, -2).contiguous()
        needs_x, _, _, *needed = ctx.needs_input_grad
        d_x = None
        if needs_x:
            d_x = pack(weights, is_turned=True, is_low=ctx.is_low)(flat)
            d_x = d_x.view(*gradient.shape[:-1], rows.shape[1])
        d_parameters: Sequence[Tensor | None] = [None] * len(needed)
        if any(needed):
            d_parameters = gradients_of(weights, biases, flat, rows, is_low=ctx.is_low)
        return d_x, None, None, *d_parameters


def gradients_of(
    weights: Sequence[Float[Tensor, "_ D"]],
    biases: Sequence[Float[Tensor, "_"]],
    gradient: Float[Tensor, "R F"],
    rows: Float[Tensor, "R D"],
    *,
    is_low: bool,
) -> list[Tensor | None]:
    """∂W and ∂b of each, or None for all, if they joined the sums in this thread's workspace."""
    workspace = workspace_of(*weights, *biases)
    d_weight = None if workspace is None else workspace.sum_of(*weights)
    d_bias = None if workspace is None else workspace.sum_of(*biases)
    if biases and d_bias is None:
        d_bias = gradient.new_zeros(gradient.shape[1])
    d_weight = sum_outer_products(gradient, rows, d_weight, d_bias, is_low=is_low)
    if workspace is None:
        apart = list(d_weight.split(list(map(len, weights))))
        return apart if d_bias is None else [*apart, *d_bias.split(list(map(len, biases)))]
    workspace.keep(d_weight, *weights)
    if d_bias is not None:
        workspace.keep(d_bias, *biases)
    return [None] * len((*weights, *biases))
