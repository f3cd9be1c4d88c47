"""Recurrent cells: one step of a network that reads a sentence from left to right.

Each is written out in its paper's symbols and equals torch.nn's given the same weights. What a
cell makes of its input alone, `project`, does not need the past and is taken for all steps of a
sentence in one product; `advance` is what has to wait for the step before.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import torch
from torch import nn

from regard.native.linear import Linear
from regard.nn.norm import LayerNorm
from regard.shapes import Float, Tensor

CellKind = Literal["rnn", "gru", "lstm"]

# What a cell hands to its next step: h, what others see of it, comes first.
State = tuple[Tensor, ...]


class Cell(nn.Module, ABC):
    """What the cells share: W x for the input, U h for the state before, one product each.

        W x_t + b_W   and   U h_{t−1} + b_U,   the rows of all gates one above the other

    With layer normalisation (Ba, Kiros & Hinton 2016, equations 20 and 29 of the supplement)
    each of the two products is normalised over its features before they meet, and the norms'
    biases are the only ones: at the first step, where h is 0, a bias before a norm would be all
    that the norm is given, and its gradient would drown the others. Batch normalisation
    would need a mean and variance for every time step: the statistics of step 1 are not those
    of step 20, few sentences of a batch reach the late steps, and none in training may be as
    long as one at test time. Layer norm asks neither the batch nor the step.

    Each gate's U starts orthogonal, so that a step neither shrinks nor stretches a state
    (Bahdanau, Cho & Bengio 2015, section B.1); W starts by Glorot's rule and biases at 0.

    Args:
        d_input: width of x.
        d_hidden: width of h.
        has_norm: whether the products are normalised.

    Attributes:
        num_gates: how many sums of width `d_hidden` a step needs.
        num_states: how many tensors its state has.
        kernel: torch's loop over time, equal to the cell without normalisation.
    """

    num_gates: ClassVar[int]
    num_states: ClassVar[int]
    kernel: ClassVar[Callable[..., Any]]

    def __init__(self, d_input: int, d_hidden: int, *, has_norm: bool = False) -> None:
        super().__init__()
        self.d_hidden = d_hidden
        width = self.num_gates * d_hidden
        self.input = Linear(d_input, width, bias=not has_norm)
        self.hidden = nn.Linear(d_hidden, width, bias=not has_norm)
        self.norm_input = LayerNorm(width) if has_norm else None
        self.norm_hidden = LayerNorm(width) if has_norm else None
        for gate in range(self.num_gates):
            rows = slice(gate * d_hidden, (gate + 1) * d_hidden)
            nn.init.xavier_uniform_(self.input.weight.data[rows])
            nn.init.orthogonal_(self.hidden.weight.data[rows])
        if not has_norm:
            nn.init.zeros_(self.input.bias)
            nn.init.zeros_(self.hidden.bias)

    @property
    def has_norm(self) -> bool:
        return self.norm_input is not None

    def start(self, x: Float[Tensor, "B *T Di"]) -> State:
        """The state before the first step: zeros, one row a sentence."""
        zeros = x.new_zeros(len(x), self.d_hidden)
        return (zeros,) * self.num_states

    def project(self, x: Float[Tensor, "*B Di"]) -> Float[Tensor, "*B G"]:
        """What the gates hear from the input, for any number of steps at once."""
        heard: Tensor = self.input(x)
        return heard if self.norm_input is None else self.norm_input(heard)

    def recall(self, h: Float[Tensor, "B D"]) -> Float[Tensor, "B G"]:
        """What the gates hear from the state before."""
        heard: Tensor = self.hidden(h)
        return heard if self.norm_hidden is None else self.norm_hidden(heard)

    @abstractmethod
    def advance(self, projected: Float[Tensor, "B G"], state: State) -> State:
        """The state after a step, from what `project` made of the step's input."""

    def forward(self, x: Float[Tensor, "B Di"], state: State) -> State:
        """The state after reading x."""
        return self.advance(self.project(x), state)


class RNN(Cell):
    """The vanilla recurrent network.

        h_t = tanh(W x_t + U h_{t−1} + b)

    Elman 1990. Equals torch.nn.RNNCell. The gradient through k steps is a product of k factors
    Uᵀ diag(1 − h²): it vanishes or explodes with the distance.
    """

    num_gates = 1
    num_states = 1
    kernel = staticmethod(torch.rnn_tanh)

    def advance(self, projected: Float[Tensor, "B G"], state: State) -> State:
        (h,) = state
        return (torch.tanh(projected + self.recall(h)),)


class GRU(Cell):
    """The gated recurrent unit.

        r_t = σ(W_r x_t + U_r h_{t−1})                  what of the past is heard
        z_t = σ(W_z x_t + U_z h_{t−1})                  how much of it stays
        h̃_t = tanh(W x_t + r_t ⊙ (U h_{t−1}))
        h_t = z_t ⊙ h_{t−1} + (1 − z_t) ⊙ h̃_t

    Cho et al. 2014, equations 5 to 8. Equals torch.nn.GRUCell. Differs: the reset gate comes
    after the product with U and not before it, so that the three products are one.
    """

    num_gates = 3
    num_states = 1
    kernel = staticmethod(torch.gru)

    def advance(self, projected: Float[Tensor, "B G"], state: State) -> State:
        (h,) = state
        x_r, x_z, x_n = projected.chunk(3, -1)
        h_r, h_z, h_n = self.recall(h).chunk(3, -1)
        r = torch.sigmoid(x_r + h_r)
        z = torch.sigmoid(x_z + h_z)
        candidate = torch.tanh(x_n + r * h_n)
        return (candidate + z * (h - candidate),)


class LSTM(Cell):
    """The long short-term memory.

        i_t = σ(W_i x_t + U_i h_{t−1})                  what is written
        f_t = σ(W_f x_t + U_f h_{t−1})                  what is kept
        g_t = tanh(W_g x_t + U_g h_{t−1})
        o_t = σ(W_o x_t + U_o h_{t−1})                  what is shown
        c_t = f_t ⊙ c_{t−1} + i_t ⊙ g_t
        h_t = o_t ⊙ tanh(c_t)

    Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000. Equals
    torch.nn.LSTMCell. With layer norm c_t is normalised before its tanh (Ba et al. 2016,
    equation 22). The forget gate's bias starts at 1, so that the cell begins by remembering
    (Jozefowicz et al. 2015, section 3).
    """

    num_gates = 4
    num_states = 2
    kernel = staticmethod(torch.lstm)

    def __init__(self, d_input: int, d_hidden: int, *, has_norm: bool = False) -> None:
        super().__init__(d_input, d_hidden, has_norm=has_norm)
        self.norm_cell = LayerNorm(d_hidden) if has_norm else None
        bias = self.input.bias if self.norm_input is None else self.norm_input.bias
        nn.init.ones_(bias.data[d_hidden : 2 * d_hidden])

    def advance(self, projected: Float[Tensor, "B G"], state: State) -> State:
        h, c = state
        i, f, g, o = (projected + self.recall(h)).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        shown = c if self.norm_cell is None else self.norm_cell(c)
        return torch.sigmoid(o) * torch.tanh(shown), c


CELLS: dict[CellKind, type[Cell]] = {"rnn": RNN, "gru": GRU, "lstm": LSTM}
