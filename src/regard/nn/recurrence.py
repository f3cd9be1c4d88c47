"""A recurrent cell over time: one layer, both directions, and layers on top of one another."""

from typing import Any, cast

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.nn.dropout import Dropout
from regard.nn.recurrent import CELLS, Cell, CellKind, State
from regard.plain import is_plain
from regard.shapes import Bool, Float, Tensor


class Recurrence(nn.Module):
    """One layer, read from left to right.

        state_t = cell(x_t, state_{t−1}),   output_t = h_t

    `run_cell` is that loop. torch's kernel, equal to it, runs a cell without normalisation;
    sentences of several lengths are packed for it, so that padding is not even computed.
    """

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell = cell

    def forward(
        self,
        x: Float[Tensor, "B T Di"],
        state: State | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T D"], State]:
        """The outputs of all steps, and the state after the last.

        Args:
            x: what is read.
            state: where to begin; zeros unless given.
            mask: True at real positions, which come first; the outputs at the others are 0,
                and the last state is that of the last real position.
        """
        state = self.cell.start(x) if state is None else state
        if self.cell.has_norm or is_plain():
            return run_cell(self.cell, x, state, mask)
        return _run_kernel(self.cell, x, state, mask)

    def step(self, x: Float[Tensor, "R Di"], state: State) -> State:
        """The state after one step more."""
        after: State = self.cell(x, state)
        return after


def run_cell(
    cell: Cell, x: Float[Tensor, "B T Di"], state: State, mask: Bool[Tensor, "B T"] | None
) -> tuple[Float[Tensor, "B T D"], State]:
    """The loop over time as it is defined."""
    return run_projected(cell, cell.project(x), state, mask)


def run_projected(
    cell: Cell, projected: Float[Tensor, "B T G"], state: State, mask: Bool[Tensor, "B T"] | None
) -> tuple[Float[Tensor, "B T D"], State]:
    """The loop from what the gates hear; past the end of a sentence its state stands still."""
    outputs = []
    for t, heard in enumerate(projected.unbind(1)):
        new = cell.advance(heard, state)
        if mask is not None:
            is_real = mask[:, t, None]
            new = tuple(torch.where(is_real, *pair) for pair in zip(new, state, strict=True))
        state = new
        outputs.append(state[0])
    output = torch.stack(outputs, 1)
    return (output if mask is None else output * mask.unsqueeze(-1)), state


def _run_kernel(cell: Cell, x: Tensor, state: State, mask: Tensor | None) -> tuple[Tensor, State]:
    """Equals `run_cell`, by torch's own loop."""
    weights = [cell.input.weight, cell.hidden.weight, cell.input.bias, cell.hidden.bias]
    layered = tuple(each.unsqueeze(0) for each in state)
    first: Any = layered if len(layered) > 1 else layered[0]
    settings = (True, 1, 0.0, cell.training, False)  # biases, layers, dropout, …, directions
    if mask is None:
        output, *last = cell.kernel(x, first, weights, *settings, True)
        return output, tuple(each.squeeze(0) for each in last)
    packed = pack_padded_sequence(x, mask.sum(1).cpu(), batch_first=True, enforce_sorted=False)
    order, back = packed.sorted_indices, packed.unsorted_indices
    layered = tuple(each[:, order] for each in layered)
    first = layered if len(layered) > 1 else layered[0]
    data, *last = cell.kernel(packed.data, packed.batch_sizes, first, weights, *settings)
    output, _ = pad_packed_sequence(
        packed._replace(data=data), batch_first=True, total_length=x.shape[1]
    )
    return output, tuple(each.squeeze(0)[back] for each in last)


def reverse(x: Tensor, mask: Bool[Tensor, "B T"]) -> Tensor:
    """Each sentence's real positions in reverse, the padding where it was; B T or B T D."""
    place = torch.arange(mask.shape[1], device=mask.device)
    index = torch.where(mask, mask.sum(1, keepdim=True) - 1 - place, place)  # B T
    return x.gather(1, index if x.ndim == 2 else index.unsqueeze(-1).expand_as(x))


class Bidirectional(nn.Module):
    """A layer in each direction, side by side.

        h_j = [→h_j ; ←h_j]

    Schuster & Paliwal 1997; Bahdanau, Cho & Bengio 2015, section 3.2.
    """

    def __init__(self, kind: CellKind, d_input: int, d_hidden: int) -> None:
        super().__init__()
        self.rightwards = Recurrence(CELLS[kind](d_input, d_hidden))
        self.leftwards = Recurrence(CELLS[kind](d_input, d_hidden))

    def forward(
        self, x: Float[Tensor, "B T Di"], mask: Bool[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B T D2"], State, State]:
        """The outputs of both directions, and where the rightward and the leftward one ended."""
        right, right_end = self.rightwards(x, mask=mask)
        left, left_end = self.leftwards(reverse(x, mask), mask=mask)
        return torch.cat([right, reverse(left, mask)], -1), right_end, left_end


class Stack(nn.Module):
    """Layers of one kind, each reading the outputs of the one below.

    Dropout falls between layers and never on the way from one step to the next (Zaremba,
    Sutskever & Vinyals 2014, section 3.2).
    """

    def __init__(
        self,
        kind: CellKind,
        d_input: int,
        d_hidden: int,
        num_layers: int,
        *,
        dropout: float = 0.0,
        has_norm: bool = False,
    ) -> None:
        super().__init__()
        widths = [d_input, *[d_hidden] * (num_layers - 1)]
        cells = [CELLS[kind](width, d_hidden, has_norm=has_norm) for width in widths]
        self.layers = nn.ModuleList(Recurrence(cell) for cell in cells)
        self.dropout = Dropout(dropout)
        self.num_states = cells[0].num_states

    def forward(
        self,
        x: Float[Tensor, "B T Di"],
        state: State | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T D"], State]:
        """The outputs of the top layer, and the last states of all layers, the bottom first."""
        ends: list[Tensor] = []
        for i, layer in enumerate(self.layers):
            begin = None if state is None else self._of_layer(state, i)
            x, end = layer(self.dropout(x) if i else x, begin, mask)
            ends += end
        return x, tuple(ends)

    def step(self, x: Float[Tensor, "R Di"], state: State) -> tuple[Float[Tensor, "R D"], State]:
        """The same for one step."""
        ends: list[Tensor] = []
        for i, layer in enumerate(cast("list[Recurrence]", list(self.layers))):
            end = layer.step(self.dropout(x) if i else x, self._of_layer(state, i))
            x = end[0]
            ends += end
        return x, tuple(ends)

    def _of_layer(self, state: State, layer: int) -> State:
        return state[layer * self.num_states : (layer + 1) * self.num_states]


def cell_products(kind: CellKind, d_input: int, d_hidden: int) -> int:
    """Multiplications of one step of a cell: those of its two matrices."""
    return CELLS[kind].num_gates * d_hidden * (d_input + d_hidden)
