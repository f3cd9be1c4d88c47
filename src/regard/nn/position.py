"""Positions: attention itself does not know the order of its keys, so it is added.

Each class gives the vectors for positions `offset … offset + T − 1`. The lectures ask five
things of them: unique for every position, bounded, deterministic, the same distance between
two steps whatever the length, and valid beyond the lengths of training. The sinusoids have
all five. `Fraction` and `Integer` are the two ideas the lectures reject, kept to compare.
"""

import math
from typing import Literal

import torch
from torch import nn

from regard.errors import RegardError
from regard.shapes import Float, Int, Tensor

PositionKind = Literal["sinusoid", "learned", "fraction", "integer", "none"]


def sinusoids(num_positions: int, d_model: int) -> Float[Tensor, "T D"]:
    """Sinusoids of geometrically growing wavelength.

        PE(pos, 2i)   = sin(pos / 10000^{2i/d})
        PE(pos, 2i+1) = cos(pos / 10000^{2i/d})

    Vaswani et al. 2017, section 3.5.
    """
    # In double precision: the rounding of an angle grows with the position.
    position = torch.arange(num_positions, dtype=torch.float64).unsqueeze(1)
    channel = torch.arange(0, d_model, 2, dtype=torch.float64)
    rate = torch.exp(channel * (-math.log(10_000.0) / d_model))
    table = torch.zeros(num_positions, d_model)
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate[: d_model // 2])
    return table


class Position(nn.Module):
    """Base of the position signals. This one adds nothing: a bag of words.

    Args:
        d_model: width of the vectors.
        max_positions: the longest sentence the model is asked to take.
    """

    def __init__(self, d_model: int, max_positions: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_positions = max_positions

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        offset: int = 0,
        lengths: Int[Tensor, "B"] | None = None,
    ) -> Float[Tensor, "#B #T D"]:
        """The vectors to add.

        Args:
            tokens: what stands at the positions; only its shape and device matter.
            offset: the position of the first.
            lengths: of the sentences, where they are known (a decoder does not know its own).
        """
        return torch.zeros(1, 1, self.d_model, device=tokens.device)


class Sinusoid(Position):
    """The paper's sinusoids, from a table that grows when a sentence is longer than it."""

    table: Tensor

    def __init__(self, d_model: int, max_positions: int) -> None:
        super().__init__(d_model, max_positions)
        table = torch.empty(max_positions, d_model)
        if not table.is_meta:  # `loading.load_model` wants its shape alone
            table = sinusoids(max_positions, d_model)
        self.register_buffer("table", table, persistent=False)

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        offset: int = 0,
        lengths: Int[Tensor, "B"] | None = None,
    ) -> Float[Tensor, "#B #T D"]:
        end = offset + tokens.shape[1]
        if end > len(self.table):
            self.table = sinusoids(2 * end, self.d_model).to(self.table)
        return self.table[offset:end].unsqueeze(0)


class Learned(Position):
    """A trained vector for every position (Gehring et al. 2017); none beyond the last."""

    def __init__(self, d_model: int, max_positions: int) -> None:
        super().__init__(d_model, max_positions)
        self.weight = nn.Parameter(torch.empty(max_positions, d_model))
        nn.init.normal_(self.weight, std=1 / math.sqrt(d_model))

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        offset: int = 0,
        lengths: Int[Tensor, "B"] | None = None,
    ) -> Float[Tensor, "#B #T D"]:
        end = offset + tokens.shape[1]
        if end > self.max_positions:
            raise RegardError(
                f"a sequence of {end:,} pieces is longer than the model's {self.max_positions:,} "
                "learned positions; split it, or train with a larger model.max_positions"
            )
        return self.weight[offset:end].unsqueeze(0)


class Fraction(Position):
    """Rejected idea 1: a number in [0, 1], the same in every channel.

        PE(pos) = pos / (length − 1)

    One step is then a different distance in every sentence. Where the length is not known, in
    a decoder, `max_positions` stands for it.
    """

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        offset: int = 0,
        lengths: Int[Tensor, "B"] | None = None,
    ) -> Float[Tensor, "#B #T D"]:
        position = torch.arange(offset, offset + tokens.shape[1], device=tokens.device)
        if lengths is None:
            fraction = position.unsqueeze(0) / max(self.max_positions - 1, 1)
        else:
            fraction = position / (lengths.unsqueeze(1) - 1).clamp_min(1)
        return fraction.unsqueeze(-1).expand(-1, -1, self.d_model)


class Integer(Position):
    """Rejected idea 2: the position itself, the same in every channel.

        PE(pos) = pos

    It grows without bound, and long sentences drown the words.
    """

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        offset: int = 0,
        lengths: Int[Tensor, "B"] | None = None,
    ) -> Float[Tensor, "#B #T D"]:
        position = torch.arange(offset, offset + tokens.shape[1], device=tokens.device)
        return position.float().view(1, -1, 1).expand(-1, -1, self.d_model)


POSITIONS: dict[PositionKind, type[Position]] = {
    "sinusoid": Sinusoid,
    "learned": Learned,
    "fraction": Fraction,
    "integer": Integer,
    "none": Position,
}
