"""A gradient that is too long is cut to a length."""

from collections.abc import Sequence

import torch

from regard.shapes import Tensor
from regard.train.cores import Cores


def clip_(gradients: Sequence[Tensor], limit: float, cores: Cores) -> float:
    """Cut gradients, taken as one vector, to a length; return the length that it had.

        g ← g · min(1, limit / ‖g‖)

    Pascanu et al. 2013, algorithm 1.
    """
    shares = cores.each(torch._foreach_norm, gradients)
    norm = float(torch.stack([norm for share in shares for norm in share]).norm())
    if norm > limit:
        cores.each(lambda some: torch._foreach_mul_(some, limit / norm), gradients)
    return norm
