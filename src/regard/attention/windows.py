"""Windows: local attention looks at a few keys around a position instead of at all of them.

A window narrows the mask and may reshape the weights. It is called with the queries, their
positions, and the mask of the keys there are.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

from regard.shapes import Bool, Float, Int, Tensor


class Span(NamedTuple):
    """What a window lets through: the keys inside it, and a factor for their weights."""

    mask: Bool[Tensor, "*B T S"]
    gain: Float[Tensor, "*B T S"] | None


Window = Callable[[Tensor, Tensor, Tensor], Span]


class LocalMonotonic:
    """Local attention around the query's own position.

        p_t = t,   keys in [p_t − D, p_t + D]

    Luong, Pham & Manning 2015, section 3.2 ("local-m").
    """

    def __init__(self, half_width: int) -> None:
        self.half_width = half_width

    def __call__(
        self,
        query: Float[Tensor, "*B T Dq"],
        positions: Int[Tensor, "T"],
        mask: Bool[Tensor, "*b #T S"],
    ) -> Span:
        keys = torch.arange(mask.shape[-1], device=mask.device)
        inside = (keys - positions.unsqueeze(-1)).abs() <= self.half_width  # T S
        return Span(mask & inside, None)


class LocalPredictive(nn.Module):
    """Local attention around a position that the query predicts, softened by a Gaussian.

        p_t = S · sigmoid(v_pᵀ tanh(W_p h_t))
        a_t(s) = softmax(e)(s) · exp(−(s − p_t)² / 2σ²),   σ = D/2

    Luong, Pham & Manning 2015, equations 9 and 10 ("local-p"). S is the number of keys the
    sentence really has. As in the paper the weights are not normalised again after the
    Gaussian, so they sum to at most one.
    """

    def __init__(self, d_query: int, half_width: int) -> None:
        super().__init__()
        self.half_width = half_width
        self.hidden = nn.Linear(d_query, d_query, bias=False)
        self.position = nn.Linear(d_query, 1, bias=False)

    def forward(
        self,
        query: Float[Tensor, "*B T Dq"],
        positions: Int[Tensor, "T"],
        mask: Bool[Tensor, "*b #T S"],
    ) -> Span:
        num_keys = mask.sum(-1, keepdim=True)  # *b #T 1
        centre = num_keys * self.position(self.hidden(query).tanh()).sigmoid()  # *B T 1
        offset = torch.arange(mask.shape[-1], device=mask.device) - centre  # *B T S
        sigma = self.half_width / 2
        return Span(mask & (offset.abs() <= self.half_width), (-(offset**2) / (2 * sigma**2)).exp())
