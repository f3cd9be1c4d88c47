"""A linear layer whose products are taken by oneDNN, forwards and back."""

from typing import Any

import torch
from torch import nn

from regard.plain import is_plain
from regard.shapes import Float, Tensor


class Linear(nn.Linear):
    """Equals `nn.Linear`, whose products PyTorch takes with MKL.

    On processors that MKL was not made for, oneDNN is a tenth faster; it adds the bias on its way,
    for which PyTorch fills the output with it first.
    """

    def forward(self, x: Float[Tensor, "*B D"]) -> Float[Tensor, "*B F"]:
        return linear(x, self.weight, self.bias)


def linear(
    x: Float[Tensor, "*B D"], weight: Float[Tensor, "F D"], bias: Float[Tensor, "F"] | None
) -> Float[Tensor, "*B F"]:
    """The product x Wᵀ + b, by oneDNN where it can: floats of a CPU, not in autocast."""
    if not _is_for_onednn(x, weight):
        return nn.functional.linear(x, weight, bias)
    rows = x.reshape(-1, x.shape[-1])
    product: Tensor = _Linear.apply(rows, weight, bias)  # type: ignore[no-untyped-call]
    return product.view(*x.shape[:-1], -1)


def _is_for_onednn(x: Tensor, weight: Tensor) -> bool:
    return (
        x.dtype == weight.dtype == torch.float32
        and x.device.type == "cpu"
        and x.numel() > 0
        and torch.backends.mkldnn.is_available()
        and not torch.is_autocast_enabled("cpu")
        and not is_plain()
    )


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        needs_x, needs_weight, needs_bias = ctx.needs_input_grad
        return (
            _product(outer, weight.T, None) if needs_x else None,
            outer.T @ x if needs_weight else None,
            outer.sum(0) if needs_bias else None,
        )


def _product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return product
