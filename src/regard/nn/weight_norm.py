"""Weight normalisation: the length of a weight vector apart from its direction."""

from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from regard.native.linear import linear
from regard.shapes import Float, Tensor


class WeightNorm(nn.Module):
    """A linear map whose rows are given by direction and length.

        y = W x + b,   w_i = g_i · v_i / ‖v_i‖

    Salimans & Kingma 2016, equation 2. Written out, so that a model folder holds v and g under
    names of their own. W starts as N(0, std²), b as zero.

    Args:
        d_in: width of x.
        d_out: width of y.
        std: spread of the elements of W at the start.
    """

    def __init__(self, d_in: int, d_out: int, std: float) -> None:
        super().__init__()
        self.direction = nn.Parameter(torch.empty(d_out, d_in))
        nn.init.normal_(self.direction, std=std)
        self.gain = nn.Parameter(self.direction.detach().norm(dim=1, keepdim=True))
        self.bias = nn.Parameter(torch.zeros(d_out))

    def weight(self) -> Float[Tensor, "Dout Din"]:
        """The matrix W."""
        length: Tensor = self.direction.norm(dim=1, keepdim=True)
        return self.direction * (self.gain / length)

    def fixed(self) -> Callable[[Tensor], Tensor]:
        """This map with its matrix computed, for as long as the parameters do not change."""
        return partial(linear, weight=self.weight(), bias=self.bias)

    def forward(self, x: Float[Tensor, "*B Din"]) -> Float[Tensor, "*B Dout"]:
        return linear(x, self.weight(), self.bias)
