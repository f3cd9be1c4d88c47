"""Dropout whose mask is cheap to draw on a CPU."""

from typing import Any

import torch
from torch import nn

from regard.shapes import Bool, Float, Tensor


def keep_mask(like: Tensor, num_dropped: int) -> Bool[Tensor, "..."]:
    """A random mask of the shape of `like`, False with probability num_dropped/256.

    One random 64-bit word yields eight 8-bit numbers, each compared with the threshold;
    drawing one float an element, as `bernoulli_` does, takes ten times as long.
    """
    num_words = (like.numel() + 7) // 8
    words = torch.empty(num_words, dtype=torch.int64, device=like.device)
    words.random_(-(2**63), None)  # all 64 bits: the default leaves the sign bit at 0
    return (words.view(torch.uint8)[: like.numel()] >= num_dropped).view(like.shape)


class _Dropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, num_dropped: int) -> Tensor:
        mask = keep_mask(x, num_dropped)
        ctx.save_for_backward(mask)
        ctx.scale = 256 / (256 - num_dropped)
        return (x * mask).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_tensors
        return (grads[0] * mask).mul_(ctx.scale), None


class Dropout(nn.Module):
    """Dropout.

        y = x · m / (1 − p),   m ~ Bernoulli(1 − p)

    Srivastava et al. 2014. Differs: p is rounded to a multiple of 1/256, and the scale uses
    the rounded p, so the expectation is exact.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        assert 0.0 <= probability < 1.0, f"dropout {probability}"
        self.num_dropped = min(round(probability * 256), 255)

    def forward(self, x: Float[Tensor, "*B"]) -> Float[Tensor, "*B"]:
        if not self.training or self.num_dropped == 0:
            return x
        dropped: Tensor = _Dropped.apply(x, self.num_dropped)  # type: ignore[no-untyped-call]
        return dropped

    def extra_repr(self) -> str:
        return f"p={self.num_dropped}/256"
