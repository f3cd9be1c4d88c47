"""A recurrent cell that looks at the source before each of its steps."""

import torch
from torch import nn

from regard.attention import Additive, KeyValue, SingleHead
from regard.models.interface import Memory
from regard.models.recurrent_state import RecurrentState
from regard.nn.recurrence import cell_products
from regard.nn.recurrent import CELLS, CellKind, State
from regard.shapes import Bool, Float, Tensor


class AttentiveCell(nn.Module):
    """Attention from the state before a step, then the step.

        e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j)
        α_ij = softmax_j e_ij,   c_i = Σ_j α_ij h_j
        s_i  = cell([x_i ; c_i], s_{i−1})

    Bahdanau, Cho & Bengio 2015, equations 4 to 6 and A.1.2. Because the query is the state
    before the step, the steps of a sentence wait for one another, in training too. U_a h_j is
    made once a sentence, and what the cell hears of x once for all steps.

    Args:
        kind: of the cell.
        d_input: width of x.
        d_hidden: width of the state.
        d_memory: width of what is looked at.
        d_align: hidden width of the score.
    """

    def __init__(
        self, kind: CellKind, d_input: int, d_hidden: int, d_memory: int, d_align: int
    ) -> None:
        super().__init__()
        self.cell = CELLS[kind](d_input, d_hidden)
        # The columns of the cell's input matrix that read the context.
        self.context = nn.Linear(d_memory, self.cell.num_gates * d_hidden, bias=False)
        self.cross_attention = SingleHead(Additive(d_hidden, d_memory, d_align))
        nn.init.xavier_uniform_(self.context.weight)

    def keys(self, memory: Memory) -> tuple[KeyValue, Bool[Tensor, "B 1 1 S"]]:
        """What is looked at, projected once for all steps to come, and which of it is real."""
        return self.cross_attention.project_memory(memory.states), memory.mask[:, None, None, :]

    def hear(
        self, x: Float[Tensor, "*R Di"], context: Float[Tensor, "*R C"]
    ) -> Float[Tensor, "*R G"]:
        """What the cell's gates hear from input and context together."""
        heard: Tensor = self.cell.project(x) + self.context(context)
        return heard

    def forward(
        self, x: Float[Tensor, "B T Di"], state: State, memory: Memory
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B T C"]]:
        """The outputs and the contexts of all steps."""
        keys, mask = self.keys(memory)
        outputs, contexts = [], []
        for projected in self.cell.project(x).unbind(1):
            context = self.cross_attention(state[0].unsqueeze(1), keys, mask).squeeze(1)
            state = self.cell.advance(projected + self.context(context), state)
            outputs.append(state[0])
            contexts.append(context)
        return torch.stack(outputs, 1), torch.stack(contexts, 1)

    def step(
        self, x: Float[Tensor, "R Di"], past: State, state: RecurrentState
    ) -> tuple[State, Float[Tensor, "R C"]]:
        """The same for one step: the cell's state after it, and the context.

        Args:
            x: what is read.
            past: the cell's own part of the decoder's state.
            state: where decoding stands.
        """
        assert state.memory is not None and state.mask is not None
        queries = state.by_sentence(past[0])
        context = self.cross_attention(queries, state.memory, state.mask).flatten(0, 1)
        return self.cell.advance(self.hear(x, context), past), context


def attentive_products(
    kind: CellKind,
    d_input: int,
    d_hidden: int,
    d_memory: int,
    d_align: int,
    source: int,
    target: int,
) -> int:
    """Multiplications of an attentive cell over a sentence pair."""
    projections = (target * d_hidden + source * d_memory) * d_align
    pairs = target * source * (d_align + d_memory)
    return projections + pairs + target * cell_products(kind, d_input + d_memory, d_hidden)
