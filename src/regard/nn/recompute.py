"""Gradient checkpointing: memory bought with time."""

from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from regard.nn.dropout import own_generator
from regard.shapes import Tensor


class Recomputing(nn.Module):
    """A stack of blocks that may forget their insides and compute them again on the way back.

    Of L blocks only the L inputs are kept instead of everything inside them, for one more
    forward pass (Chen et al. 2016, section 4). Random numbers are drawn again as they were, so
    the gradient is the same to the bit.

    Attributes:
        recomputes: whether it does so.
    """

    def __init__(self) -> None:
        super().__init__()
        self.recomputes = False

    def apply_block(self, block: Callable[..., Tensor], *inputs: Any) -> Tensor:
        """The output of the block, its insides kept or not."""
        if not self.recomputes or not torch.is_grad_enabled():
            return block(*inputs)
        generator = own_generator()
        state = generator.get_state() if generator is not None else None
        # Who watches, for one: a block that is watched keeps other things than one that is not.
        context = copy_context()

        def run(*inputs: Any) -> Tensor:
            if generator is not None and state is not None:
                generator.set_state(state)  # PyTorch restores its own generator only
            return context.run(block, *inputs)

        output: Tensor = checkpoint(run, *inputs, use_reentrant=False)
        return output
