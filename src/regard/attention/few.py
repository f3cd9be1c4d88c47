"""Attention over few keys as one kernel, forwards and back: what training does with sentences."""

from typing import Any

import torch

from regard.native import kernels
from regard.shapes import Bool, Float, Tensor


def can_attend_to_few(
    packed: Float[Tensor, "B T W"],
    memory: Float[Tensor, "B S V"] | None,
    width: int,
    mask: Bool[Tensor, "#B #H #T S"] | None,
) -> bool:
    """Whether `attend_to_few` can be asked: a kernel is there, and the problem is small."""
    given = packed if memory is None else memory
    return (
        kernels.has_kernels()
        and packed.device.type == "cpu"
        and {packed.dtype, given.dtype} <= {torch.float32, torch.bfloat16}
        and given.shape[1] <= kernels.MOST_KEYS
        and width <= kernels.MOST_WIDTH
        and width % kernels.SIXTEEN == 0
        and (mask is None or mask.shape == (len(given), 1, 1, given.shape[1]))
    )


def attend_to_few(
    packed: Float[Tensor, "B T W"],
    memory: Float[Tensor, "B S V"] | None,
    heads: int,
    mask: Bool[Tensor, "B 1 1 S"] | None,
    *,
    is_causal: bool,
) -> Float[Tensor, "B T D"]:
    """Equals multi-head attention between its projections.

    PyTorch's kernel is made for long sentences: for 25 × 25 weights most of its time goes into
    getting ready, and copies of the heads stand before and after it. Here heads are read where
    the projections left them. The weights are kept for the way back; there are few.

    Args:
        packed: queries, keys and values side by side; queries alone, if there is a memory.
        memory: keys and values side by side.
        heads: how many there are.
        mask: True where a key is seen; not together with `is_causal`.
        is_causal: each position sees the keys up to its own.
    """
    seen = None if mask is None else mask[:, 0, 0].contiguous()
    memory = None if memory is None else memory.float()
    output: Tensor = _AttendToFew.apply(  # type: ignore[no-untyped-call]
        packed.float(), memory, heads, seen, is_causal
    )
    return output


class _AttendToFew(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        packed: Tensor,
        memory: Tensor | None,
        heads: int,
        mask: Tensor | None,
        is_causal: bool,
    ) -> Tensor:
        output, weights = kernels.attend_few(
            *_parts(packed, memory), heads, mask, is_causal=is_causal
        )
        ctx.save_for_backward(packed, memory, weights)
        ctx.is_causal = is_causal
        return output

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, output: Tensor) -> tuple[Tensor | None, ...]:
        packed, memory, weights = ctx.saved_tensors
        gradients = torch.empty_like(packed), None if memory is None else torch.empty_like(memory)
        kernels.attend_few_backward(
            *_parts(packed, memory),
            weights,
            output.contiguous(),
            _parts(*gradients),
            is_causal=ctx.is_causal,
        )
        return *gradients, None, None, None


def _parts(packed: Tensor, memory: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values."""
    if memory is None:
        query, keys, values = packed.chunk(3, -1)
        return query, keys, values
    keys, values = memory.chunk(2, -1)
    return packed, keys, values
