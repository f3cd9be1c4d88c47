"""Attention of a decoding step: one query a hypothesis, and places that each of them sees."""

from dataclasses import dataclass
from functools import cached_property

import torch

from regard.attention.attend import attend_in_batches
from regard.native import kernels
from regard.shapes import Float, Int, Tensor


@dataclass(frozen=True)
class Sight:
    """Which of the places of its sentence each row sees.

    Attributes:
        num_places: how many a sentence has.
        places: those that each row sees, as many for every row; None: the first of them.
        lengths: how many of the first the rows of each sentence see; None: all.
        blocks: which of the stored sentences each sentence is; None: they are in order.
    """

    num_places: int
    places: Int[Tensor, "R t"] | None = None
    lengths: Int[Tensor, "B"] | None = None
    blocks: Int[Tensor, "B"] | None = None

    @cached_property
    def bias(self) -> Float[Tensor, "_ S"] | None:
        """0 where a place is seen and −∞ where not, by row or by sentence; None where all are."""
        if self.places is not None:
            hidden = torch.full((len(self.places), self.num_places), -torch.inf)
            return hidden.scatter_(1, self.places.long(), 0.0)
        if self.lengths is not None:
            is_seen = torch.arange(self.num_places) < self.lengths.unsqueeze(1)
            return torch.zeros(is_seen.shape).masked_fill_(~is_seen, -torch.inf)
        return None


def attend_rows(
    query: Float[Tensor, "R D"],
    keys: Float[Tensor, "A H S K"],
    values: Float[Tensor, "A H S K"],
    sight: Sight,
) -> Float[Tensor, "R D"]:
    """Equals `attend` with the scaled inner product, for the rows of sentences side by side.

    The rows of one sentence stand together and share its keys and values; heads stand side by
    side within a row, in the query as in what is returned.
    """
    if kernels.can_take(query, keys, values):
        seen = sight.places, sight.lengths, sight.blocks
        return kernels.attend_rows(query, keys, values, *seen)
    if sight.blocks is not None:
        keys, values = keys[sight.blocks], values[sight.blocks]
    batch, heads, num_places, width = keys.shape
    lanes = len(query) // batch
    bias = sight.bias
    if bias is not None:
        shape = (batch, heads, lanes, num_places)
        bias = (
            bias.to(query.dtype)
            .view(batch, 1, -1, num_places)
            .expand(shape)
            .reshape(-1, *shape[2:])
        )
    found = attend_in_batches(
        query.reshape(batch, lanes, heads, width).transpose(1, 2).flatten(0, 1),
        keys.flatten(0, 1),
        values.flatten(0, 1),
        bias,
    )
    return found.view(batch, heads, lanes, width).transpose(1, 2).reshape(len(query), -1)
