"""Deep-Att: deep LSTMs whose layers are joined by a straight, linear path.

source ─ embedding ┬ LSTM → ─ LSTM ← ─ LSTM → … ┐
                   └ LSTM ← ─ LSTM → ─ LSTM ← … ┴ compressed ─┐ states
target ─ embedding ─ bottom LSTM, which attends ─ LSTM … ─ output ─ softmax

Zhou et al. 2016, "Deep Recurrent Models with Fast-Forward Connections for Neural Machine
Translation", section 3. Its PosUnk, which writes the attended source word where the model writes
an unknown one, is `lens.unknown`.
"""

from dataclasses import dataclass
from typing import Annotated, Literal, cast

import torch
from torch import nn
from typing_extensions import Doc

from regard.models.attentive import AttentiveCell, attentive_products
from regard.models.interface import (
    Layers,
    Memory,
    ModelConfig,
    Probability,
    Seq2Seq,
    Sharing,
    Width,
)
from regard.models.recurrent_state import RecurrentState
from regard.models.words import Words, embeddings, output_layer
from regard.nn.dropout import Dropout
from regard.nn.recurrence import cell_products, reverse, run_projected
from regard.nn.recurrent import LSTM
from regard.shapes import Bool, Float, Int, Tensor

GATES = LSTM.num_gates


@dataclass(frozen=True, kw_only=True)
class DeepAttConfig(ModelConfig):
    """The shape of Deep-Att; the paper's has 9 encoder and 7 decoder layers of 512 units."""

    arch: Annotated[Literal["deep_att"], Doc("which architecture")] = "deep_att"
    d_model: Annotated[Width, Doc("width of embeddings, layers and of the attention")] = 256
    encoder_layers: Annotated[Layers, Doc("LSTM layers of each of the encoder's columns")] = 2
    decoder_layers: Annotated[Layers, Doc("LSTM layers of the decoder")] = 2
    dropout: Annotated[Probability, Doc("on embeddings and on every layer's output")] = 0.2
    share_embeddings: Annotated[
        Sharing, Doc("one matrix for source, target and output; for target and output; or three")
    ] = "all"

    def summary(self) -> str:
        return (
            f"2 × {self.encoder_layers} + {self.decoder_layers} fast-forward layers of lstm, "
            f"d_model {self.d_model:,}"
        )

    def products(self, vocabulary: int, source: int, target: int) -> int:
        d = self.d_model
        d_joined = (1 + GATES) * d
        bottom, upper = cell_products("lstm", d, d), cell_products("lstm", d_joined, d)
        encoder = source * 2 * (bottom + (self.encoder_layers - 1) * upper)
        compress = source * 2 * d_joined * d
        attentive = attentive_products("lstm", d, d, d, d, source, target)
        decoder = target * ((self.decoder_layers - 1) * upper + d_joined * d)
        return encoder + compress + attentive + decoder + target * vocabulary * d


class FastForward(nn.Module):
    """One layer: what its gates hear of the layer below, handed on as it is.

        f_t^k = W_f^k [f_t^{k−1} ; h_t^{k−1}] + b,   f_t^1 = W_f^1 x_t + b
        h_t^k = LSTM_k with f_t^k as the input of its gates

    Zhou et al. 2016, section 3.1. Along f there is neither a gate nor a step in time: the
    gradient reaches the bottom of a deep stack through linear maps alone. torch's kernel would
    make f once more for itself, and f is most of the work.
    """

    def __init__(self, d_input: int, d_hidden: int) -> None:
        super().__init__()
        self.cell = LSTM(d_input, d_hidden)

    def forward(
        self, joined: Float[Tensor, "B T Di"], mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T G"], Float[Tensor, "B T D"]]:
        f = self.cell.project(joined)
        h, _ = run_projected(self.cell, f, self.cell.start(joined), mask)
        return f, h


class DeepAtt(Seq2Seq[RecurrentState]):
    """Two interleaved columns of fast-forward layers read, one such column attends and writes.

    In the encoder's first column odd layers read rightwards and even ones leftwards; in the
    second it is the other way round (the interleaved bi-directional encoder). The states that
    are attended to are

        e_t = W_p [f_t^{n,1} ; h_t^{n,1} ; f_t^{n,2} ; h_t^{n,2}]

    The decoder's bottom layer attends with its state before the step, f_t^1 = W_f^1 [E y_{t−1} ;
    c_t]; the output layer reads W_q [f_t^n ; h_t^n]. Differs: f is handed on whole, where the
    paper hands on half of it in places; W_q brings the last layer to the width of the
    embeddings, so that they may be shared; LSTMs have no peepholes; the decoder starts from
    zeros.

    Args:
        config: its shape.
        source_vocabulary: number of source tokens.
        target_vocabulary: number of target tokens.
    """

    def __init__(
        self, config: DeepAttConfig, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__()
        d = config.d_model
        d_joined = (1 + GATES) * d
        source, target = embeddings(config, source_vocabulary, target_vocabulary)
        self.source = Words(source, config.dropout)
        self.target = Words(target, config.dropout)
        self.encoder = nn.ModuleList(
            nn.ModuleList(
                FastForward(d if i == 0 else d_joined, d) for i in range(config.encoder_layers)
            )
            for _ in range(2)
        )
        self.compress = nn.Linear(2 * d_joined, d)
        self.decoder_bottom = AttentiveCell("lstm", d, d, d, d)
        self.decoder = nn.ModuleList(
            FastForward(d_joined, d) for _ in range(config.decoder_layers - 1)
        )
        self.narrow = nn.Linear(d_joined, d)
        self.dropout = Dropout(config.dropout)
        self.output = output_layer(config, target)

    def encode(self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]) -> Memory:
        words = self.source(source)
        tops = []
        for column, layers in enumerate(self.encoder):
            joined = words
            for i, layer in enumerate(cast("nn.ModuleList", layers)):
                is_leftwards = (i + column) % 2 == 1
                joined = reverse(joined, source_mask) if is_leftwards else joined
                joined = self._join(*layer(joined, source_mask))
                joined = reverse(joined, source_mask) if is_leftwards else joined
            tops.append(joined)
        return Memory(self.compress(torch.cat(tops, -1)), source_mask)

    def decode(
        self, memory: Memory, target: Int[Tensor, "B T"], target_mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        words = self.target(target)
        bottom = self.decoder_bottom
        h, contexts = bottom(words, bottom.cell.start(words), memory)
        joined = self._join(bottom.hear(words, contexts), h)
        for layer in self.decoder:
            joined = self._join(*layer(joined))
        hidden: Tensor = self.dropout(self.narrow(joined))
        return hidden

    def start(self, memory: Memory, max_length: int) -> RecurrentState:
        state = self.decoder_bottom.cell.start(memory.states)
        return RecurrentState(state * (1 + len(self.decoder)), *self.decoder_bottom.keys(memory))

    def step(self, state: RecurrentState, tokens: Int[Tensor, "R"]) -> Float[Tensor, "R D"]:
        words = self.target(tokens)
        pasts = zip(state.rows[::2], state.rows[1::2], strict=True)  # h, c of each layer
        after, context = self.decoder_bottom.step(words, next(pasts), state)
        rows = [*after]
        joined = self._join(self.decoder_bottom.hear(words, context), after[0])
        layers = cast("list[FastForward]", list(self.decoder))
        for layer, past in zip(layers, pasts, strict=True):
            f = layer.cell.project(joined)
            after = layer.cell.advance(f, past)
            rows += after
            joined = self._join(f, after[0])
        state.advance(tuple(rows))
        hidden: Tensor = self.narrow(joined)
        return hidden

    def reorder(self, state: RecurrentState, rows: Int[Tensor, "B N"]) -> None:
        state.reorder(rows)

    def _join(self, f: Float[Tensor, "*R G"], h: Float[Tensor, "*R D"]) -> Float[Tensor, "*R J"]:
        """[f ; h], what the layer above reads; dropout falls on h."""
        return torch.cat([f, self.dropout(h)], -1)
