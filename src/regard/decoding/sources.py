"""The sources of a batch without their padding."""

from functools import cached_property

import torch

from regard.shapes import Bool, Float, Tensor


class Sources:
    """Sources as the rows of their real positions, one sentence behind the other.

    Attributes:
        mask: True at these positions.
        rows: where they are among all.
        lengths: of the sentences.
        begins: the row that each begins at, and where the last one ends.
        longest: of the lengths.
        is_padded: whether any is shorter.
    """

    def __init__(self, mask: Bool[Tensor, "B S"]) -> None:
        self.mask = mask
        self.rows = mask.flatten().nonzero().squeeze(1)
        self.lengths = mask.sum(1)
        self.begins = torch.cat([self.lengths.new_zeros(1), self.lengths.cumsum(0)])
        self.longest = int(self.lengths.max())
        self.is_padded = len(self.rows) < mask.numel()

    def pad(self, x: Float[Tensor, "R F"]) -> Float[Tensor, "BS F"]:
        """A row for every position, padding too."""
        if not self.is_padded:
            return x
        return x.new_zeros(self.mask.numel(), x.shape[1]).index_copy_(0, self.rows, x)

    def unpad(self, x: Float[Tensor, "BS F"]) -> Float[Tensor, "R F"]:
        """The rows of the real positions."""
        return x.index_select(0, self.rows) if self.is_padded else x

    @cached_property
    def bias(self) -> Float[Tensor, "B 1 1 S"] | None:
        """−∞ where a key is padding; None where none is."""
        if not self.is_padded:
            return None
        shown = self.mask.view(len(self.mask), 1, 1, -1)
        return torch.zeros(shown.shape).masked_fill_(~shown, -torch.inf)
