"""Dropout whose mask is cheap to draw on a CPU."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from regard.native import kernels
from regard.plain import is_plain
from regard.shapes import Float, Tensor, UInt8

_generator: ContextVar[torch.Generator | None] = ContextVar("generator", default=None)


@contextmanager
def drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Let the dropout of this thread draw from a generator of its own instead of torch's."""
    token = _generator.set(generator)
    try:
        yield
    finally:
        _generator.reset(token)


def own_generator() -> torch.Generator | None:
    """What `drawing_from` set in this thread, if anything."""
    return _generator.get()


def random_bytes(num_bytes: int, device: torch.device) -> UInt8[Tensor, "n"]:
    """Uniform random bytes, eight from every 64-bit word of the generator.

    Drawing one float an element, as `bernoulli_` does, takes ten times as long.
    """
    words = torch.empty((num_bytes + 7) // 8, dtype=torch.int64, device=device)
    # All 64 bits: the default leaves the sign bit at 0.
    words.random_(-(2**63), None, generator=own_generator())
    return words.view(torch.uint8)[:num_bytes]


def _mask(
    noise: UInt8[Tensor, "*B"], num_dropped: int, like: Float[Tensor, "*B"]
) -> Float[Tensor, "*B"]:
    """1.0 where the byte says keep, else 0.0: floats, because bool · float is slow on a CPU."""
    return torch.ge(noise, num_dropped, out=torch.empty_like(like))


class _AddDropped(torch.autograd.Function):
    """x + y · m / (1 − p); of the mask only its random bytes are kept for the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, num_dropped: int) -> Tensor:
        noise = random_bytes(y.numel(), y.device).view(y.shape)
        ctx.save_for_backward(noise)
        ctx.num_dropped = num_dropped
        ctx.scale = 256 / (256 - num_dropped)
        return torch.addcmul(x, y, _mask(noise, num_dropped, y), value=ctx.scale)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor, None]:
        (noise,) = ctx.saved_tensors
        d_y = _mask(noise, ctx.num_dropped, grads[0]).mul_(grads[0]).mul_(ctx.scale)
        return grads[0] if ctx.needs_input_grad[0] else None, d_y, None


class _AddDroppedAtOnce(torch.autograd.Function):
    """The same by a kernel, which makes the mask from a seed where it is used; x None: zeros."""

    @staticmethod
    def forward(ctx: Any, x: Tensor | None, y: Tensor, num_dropped: int) -> Tensor:
        seed = torch.empty((), dtype=torch.int64).random_(generator=own_generator())
        ctx.drop = partial(kernels.add_dropped, seed=int(seed), num_dropped=num_dropped)
        added: Tensor = ctx.drop(None if x is None else x.contiguous(), y.contiguous())
        return added

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor, None]:
        d_y = ctx.drop(None, grads[0].contiguous())
        return grads[0] if ctx.needs_input_grad[0] else None, d_y, None


class Dropout(nn.Module):
    """Dropout.

        Dropout(y) = y · m / (1 − p),   m ~ Bernoulli(1 − p)

    Srivastava et al. 2014. Differs: p is rounded to a multiple of 1/256, and the scale uses
    the rounded p, so the expectation is exact.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        assert 0.0 <= probability < 1.0, f"dropout {probability}"
        self.num_dropped = min(round(probability * 256), 255)

    def forward(self, y: Float[Tensor, "*B"]) -> Float[Tensor, "*B"]:
        if not self.training or self.num_dropped == 0:
            return y
        if is_plain():
            return F.dropout(y, self.num_dropped / 256)
        return self._add(None, y)

    def add(self, x: Float[Tensor, "*B"], y: Float[Tensor, "*B"]) -> Float[Tensor, "*B"]:
        """The sum x + Dropout(y), in one pass."""
        if not self.training or self.num_dropped == 0 or is_plain():
            plain_sum: Tensor = x + self(y)
            return plain_sum
        return self._add(x, y)

    def _add(self, x: Tensor | None, y: Tensor) -> Tensor:
        added: Tensor
        if kernels.has_kernels() and y.is_cpu and _are_floats(x, y):
            added = _AddDroppedAtOnce.apply(x, y, self.num_dropped)  # type: ignore[no-untyped-call]
        else:
            x = y.new_zeros(()) if x is None else x
            added = _AddDropped.apply(x, y, self.num_dropped)  # type: ignore[no-untyped-call]
        return added

    def extra_repr(self) -> str:
        return f"p={self.num_dropped}/256"


def _are_floats(x: Tensor | None, y: Tensor) -> bool:
    """Whether a kernel can add them up."""
    alike = x is None or (x.dtype == y.dtype and x.shape == y.shape)
    return alike and y.dtype == torch.float32
