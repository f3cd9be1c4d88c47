"""The residual connection around every sub-layer."""

from collections.abc import Callable
from typing import Literal

from torch import nn

from regard.nn.dropout import Dropout
from regard.nn.norm import NORMS, NormKind
from regard.shapes import Bool, Float, Tensor

NormPlace = Literal["post", "pre"]


class Residual(nn.Module):
    """A sub-layer f, added to what it reads, and a normalisation.

        post:  y = Norm(x + Dropout(f(x)))       Vaswani et al. 2017, sections 3.1 and 5.4
        pre:   y = x + Dropout(f(Norm(x)))       Xiong et al. 2020, table 1

    Args:
        d_model: width of x and y.
        place: whether the normalisation comes after the sum or before the sub-layer.
        norm: over features or over the batch.
        dropout: probability of dropping an element of f's output.
        adds_input: whether x is added at all; without it there is no path around f.
    """

    def __init__(
        self,
        d_model: int,
        place: NormPlace,
        norm: NormKind = "layer",
        dropout: float = 0.0,
        *,
        adds_input: bool = True,
    ) -> None:
        super().__init__()
        self.place = place
        self.adds_input = adds_input
        self.norm = NORMS[norm](d_model)
        self.dropout = Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        sublayer: Callable[[Tensor], Tensor],
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Apply the sub-layer; the mask tells a batch norm which positions are real."""
        if self.place == "pre":
            return self._sum(x, sublayer(self.norm(x, mask)))
        y: Tensor = self.norm(self._sum(x, sublayer(x)), mask)
        return y

    def _sum(self, x: Tensor, y: Tensor) -> Tensor:
        total: Tensor = self.dropout.add(x, y) if self.adds_input else self.dropout(y)
        return total
