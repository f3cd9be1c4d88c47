"""The position-wise feed-forward network."""

from collections.abc import Callable
from typing import Literal

import torch.nn.functional as F
from torch import nn

from regard.native.linear import Linear
from regard.native.rectified import can_rectify, rectified
from regard.nn.dropout import Dropout
from regard.shapes import Bool, Float, Tensor

Activation = Literal["relu", "gelu", "swish"]


def _relu(x: Tensor) -> Tensor:
    """In place, but on the way to a gradient: that of a view, as linear layers give, is copied."""
    return F.relu(x) if x.requires_grad else F.relu_(x)


ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": _relu,
    "gelu": F.gelu,
    "swish": F.silu,
}


class FeedForward(nn.Module):
    """The same two-layer network at every position.

        FFN(x) = max(0, x W_1 + b_1) W_2 + b_2

    Vaswani et al. 2017, equation 2.

    Args:
        d_model: width of input and output.
        d_hidden: width between the two layers.
        activation: what stands between the layers; the paper's is ReLU.
        dropout: probability of dropping a hidden unit; the paper drops none.
    """

    def __init__(
        self, d_model: int, d_hidden: int, activation: Activation = "relu", dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.inner = Linear(d_model, d_hidden)
        self.outer = Linear(d_hidden, d_model)
        self.activation = ACTIVATIONS[activation]
        self.dropout = Dropout(dropout)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(
        self, x: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T D"]:
        is_bare = self.activation is _relu and not (self.training and self.dropout.num_dropped)
        if is_bare and can_rectify(x, self.inner, self.outer):
            return rectified(x, self.inner, self.outer)
        y: Tensor = self.outer(self.dropout(self.activation(self.inner(x))))
        return y
