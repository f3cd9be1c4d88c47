"""Two linear layers with ReLU between them, by products that apply it where they leave a number.

h = max(0, x W_1 + b_1)        y = h W_2 + b_2        ∂h = [h > 0] ∂y W_2ᵀ
"""

from typing import Any

import torch
from torch import nn

from regard.native.linear import can_multiply, gradients_of
from regard.native.workspace import are_parameters, pack
from regard.shapes import Float, Tensor


def can_rectify(x: Float[Tensor, "*B D"], inner: nn.Module, outer: nn.Module) -> bool:
    """Whether `rectified` can be asked: there is something to learn, and there are kernels.

    In integers, say, a layer is none of PyTorch's.
    """
    is_low = torch.is_autocast_enabled("cpu")
    return (
        torch.is_grad_enabled()
        and isinstance(inner, nn.Linear)
        and isinstance(outer, nn.Linear)
        and are_parameters(*inner.parameters(), *outer.parameters())
        and can_multiply(x, inner.weight, is_low=is_low)
    )


def rectified(
    x: Float[Tensor, "*B D"], inner: nn.Linear, outer: nn.Linear
) -> Float[Tensor, "*B D"]:
    """Equals outer(relu(inner(x))), of layers with biases."""
    is_low = torch.is_autocast_enabled("cpu")
    layers = inner.weight, inner.bias, outer.weight, outer.bias
    y: Tensor = _Rectified.apply(x.float(), is_low, *layers)  # type: ignore[no-untyped-call]
    return y


class _Rectified(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, is_low: bool, *layers: Tensor) -> Tensor:
        w1, b1, w2, b2 = layers
        rows = x.flatten(0, -2).contiguous()
        hidden = rows.new_empty(len(rows), len(w1))
        pack([w1], [b1], is_low=is_low)(rows, hidden, gate=hidden)
        ctx.save_for_backward(rows, hidden)
        ctx.layers, ctx.is_low = layers, is_low
        y = rows.new_empty(*x.shape[:-1], len(w2))
        pack([w2], [b2], is_low=is_low)(hidden, y.view(len(rows), -1))
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (rows, hidden), (w1, b1, w2, b2), is_low = ctx.saved_tensors, ctx.layers, ctx.is_low
        d_y = gradient.flatten(0, -2).contiguous()
        d_hidden = pack([w2], is_turned=True, is_low=is_low)(d_y, gate=hidden)
        d_x = None
        if ctx.needs_input_grad[0]:
            d_x = pack([w1], is_turned=True, is_low=is_low)(d_hidden)
            d_x = d_x.view(*gradient.shape[:-1], rows.shape[1])
        d_outer = gradients_of([w2], [b2], d_y, hidden, is_low=is_low)
        d_inner = gradients_of([w1], [b1], d_hidden, rows, is_low=is_low)
        return d_x, None, *d_inner, *d_outer
