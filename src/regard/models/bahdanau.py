"""The network that learned to align while it learned to translate.

source ─ embedding ─ GRU in both directions ───────────────┐ annotations h_1 … h_S
target ─ embedding ─ GRU(attends to them, then takes a step) ─ maxout ─ output ─ softmax

Bahdanau, Cho & Bengio 2015, "Neural Machine Translation by Jointly Learning to Align and
Translate", sections 3.1, 3.2 and appendix A.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import nn
from typing_extensions import Doc

from regard.models.attentive import AttentiveCell, attentive_products
from regard.models.interface import Memory, ModelConfig, Probability, Seq2Seq, Sharing, Width
from regard.models.recurrent_state import RecurrentState
from regard.models.words import Words, embeddings, output_layer
from regard.nn.dropout import Dropout
from regard.nn.recurrence import Bidirectional, cell_products
from regard.shapes import Bool, Float, Int, Tensor


@dataclass(frozen=True, kw_only=True)
class BahdanauConfig(ModelConfig):
    """The shape of RNNsearch; the paper's has 1,000 units and embeddings of 620."""

    arch: Annotated[Literal["bahdanau"], Doc("which architecture")] = "bahdanau"
    d_model: Annotated[
        Width, Doc("width of embeddings, of each direction, of the decoder and of the maxout")
    ] = 256
    d_align: Annotated[Width, Doc("hidden width of the network that scores an alignment")] = 256
    dropout: Annotated[Probability, Doc("on embeddings and before the output layer")] = 0.2
    share_embeddings: Annotated[
        Sharing, Doc("one matrix for source, target and output; for target and output; or three")
    ] = "all"

    def summary(self) -> str:
        return f"bidirectional GRU, d_model {self.d_model:,}, d_align {self.d_align:,}"

    def products(self, vocabulary: int, source: int, target: int) -> int:
        d = self.d_model
        encoder = source * 2 * cell_products("gru", d, d) + d * d
        decoder = attentive_products("gru", d, d, 2 * d, self.d_align, source, target)
        maxout = target * (d + d + 2 * d) * 2 * d
        return encoder + decoder + maxout + target * vocabulary * d


class Bahdanau(Seq2Seq[RecurrentState]):
    """RNNsearch: at every step the decoder searches the source for what it needs next.

        h_j = [→h_j ; ←h_j]                                    annotations (equation 7)
        s_0 = tanh(W_s ←h_1)                                   (A.2.2)
        e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j)                (A.1.2)
        α_ij = softmax_j e_ij,   c_i = Σ_j α_ij h_j            (equations 5, 6)
        s_i = GRU([E y_{i−1} ; c_i], s_{i−1})                  (A.2.2)
        t_i = maxout(U_o s_i + V_o E y_{i−1} + C_o c_i)        pairs of neighbours
        p(y_i | y_{<i}, x) = softmax(W_o t_i)

    Lines 3 to 5 are `models.attentive.AttentiveCell`. Differs: the maxout reads s_i, as equation 4
    says, not s_{i−1} as appendix A.2.2 has it; the GRU's reset gate comes after its product
    (`nn.recurrent.GRU`); dropout, of which the paper has none.

    Args:
        config: its shape.
        source_vocabulary: number of source tokens.
        target_vocabulary: number of target tokens.
    """

    def __init__(
        self, config: BahdanauConfig, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__()
        d_model, d_annotation = config.d_model, 2 * config.d_model
        source, target = embeddings(config, source_vocabulary, target_vocabulary)
        self.source = Words(source, config.dropout)
        self.target = Words(target, config.dropout)
        self.encoder = Bidirectional("gru", d_model, d_model)
        self.initial = nn.Linear(d_model, d_model)
        self.decoder = AttentiveCell("gru", d_model, d_model, d_annotation, config.d_align)
        self.maxout = nn.Linear(2 * d_model + d_annotation, 2 * d_model)
        self.dropout = Dropout(config.dropout)
        self.output = output_layer(config, target)

    def encode(self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]) -> Memory:
        annotations, _, leftward_end = self.encoder(self.source(source), source_mask)
        return Memory(annotations, source_mask, leftward_end)

    def decode(
        self, memory: Memory, target: Int[Tensor, "B T"], target_mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        words = self.target(target)
        states, contexts = self.decoder(words, (self._initial(memory),), memory)
        return self._deep_output(states, words, contexts)

    def start(self, memory: Memory, max_length: int) -> RecurrentState:
        return RecurrentState((self._initial(memory),), *self.decoder.keys(memory))

    def step(self, state: RecurrentState, tokens: Int[Tensor, "R"]) -> Float[Tensor, "R D"]:
        words = self.target(tokens)
        after, context = self.decoder.step(words, state.rows, state)
        state.advance(after)
        return self._deep_output(after[0], words, context)

    def reorder(self, state: RecurrentState, rows: Int[Tensor, "B N"]) -> None:
        state.reorder(rows)

    def _initial(self, memory: Memory) -> Float[Tensor, "B D"]:
        """s_0, from where the leftward direction ended: at the first word."""
        return torch.tanh(self.initial(memory.last[0]))

    def _deep_output(
        self,
        s: Float[Tensor, "*R D"],
        words: Float[Tensor, "*R D"],
        context: Float[Tensor, "*R C"],
    ) -> Float[Tensor, "*R D"]:
        """t_i: of each pair of neighbours in the sum the larger (Goodfellow et al. 2013)."""
        both: Tensor = self.maxout(torch.cat([s, words, context], -1))
        hidden: Tensor = self.dropout(both.unflatten(-1, (-1, 2)).amax(-1))
        return hidden
