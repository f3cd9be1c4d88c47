"""The recurrent encoder-decoder without attention: a sentence through the neck of a bottle.

source ─ embedding ─ RNN … RNN ─ last state ─┐
target ─ embedding ─ RNN … RNN (starts there) ─ output ─ softmax

Sutskever, Vinyals & Le 2014, section 2; Cho et al. 2014, section 2.2.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from typing_extensions import Doc

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
from regard.nn.recurrence import Stack, cell_products, reverse
from regard.nn.recurrent import CellKind
from regard.shapes import Bool, Float, Int, Tensor


@dataclass(frozen=True, kw_only=True)
class EncoderDecoderConfig(ModelConfig):
    """The shape of a recurrent encoder-decoder; the papers' have 1,000 units a layer."""

    arch: Annotated[Literal["seq2seq"], Doc("which architecture")] = "seq2seq"
    cell: Annotated[CellKind, Doc("vanilla tanh, gated recurrent unit, long short-term memory")] = (
        "lstm"
    )
    d_model: Annotated[Width, Doc("width of embeddings and states")] = 256
    layers: Annotated[Layers, Doc("recurrent layers of the encoder, and of the decoder")] = 2
    reverse_source: Annotated[
        bool, Doc("read the source from its end, so that first words are near (Sutskever et al.)")
    ] = True
    feed_summary: Annotated[
        bool, Doc("show the encoder's last state to every step of the decoder (Cho et al.)")
    ] = False
    cell_norm: Annotated[bool, Doc("layer norm inside the cells; torch's kernel is lost")] = False
    dropout: Annotated[Probability, Doc("on embeddings and on every layer's output")] = 0.2
    share_embeddings: Annotated[
        Sharing, Doc("one matrix for source, target and output; for target and output; or three")
    ] = "all"

    def summary(self) -> str:
        return f"{self.layers} + {self.layers} layers of {self.cell}, d_model {self.d_model:,}"

    def products(self, vocabulary: int, source: int, target: int) -> int:
        d = self.d_model
        layers = (source + target) * self.layers * cell_products(self.cell, d, d)
        d_summary = d if self.feed_summary else 0
        bottom = cell_products(self.cell, d + d_summary, d) - cell_products(self.cell, d, d)
        return layers + target * (bottom + vocabulary * d)


class EncoderDecoder(Seq2Seq[RecurrentState]):
    """A recurrent network reads the source; another writes the target from where it ended.

        h_t = cell(E x_t, h_{t−1})                 t = 1 … S
        s_t = cell(E y_{t−1}, s_{t−1}),            s_0 = h_S, layer by layer
        p(y_t | y_{<t}, x) = softmax(W_o s_t)

    Sutskever, Vinyals & Le 2014, equation 1. With `feed_summary` each step also reads the
    encoder's last output, s_t = cell([E y_{t−1}; h_S], s_{t−1}) (Cho et al. 2014, equation 2).
    Everything the decoder will ever know of the source is h_S. Differs: a reversed source begins
    with its end token; the summary is not read by the output layer.

    Args:
        config: its shape.
        source_vocabulary: number of source tokens.
        target_vocabulary: number of target tokens.
    """

    def __init__(
        self, config: EncoderDecoderConfig, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__()
        self.reverse_source = config.reverse_source
        self.feed_summary = config.feed_summary
        d_model = config.d_model
        source, target = embeddings(config, source_vocabulary, target_vocabulary)
        self.source = Words(source, config.dropout)
        self.target = Words(target, config.dropout)
        self.encoder = _stack(config, d_model)
        self.decoder = _stack(config, 2 * d_model if config.feed_summary else d_model)
        self.dropout = Dropout(config.dropout)
        self.output = output_layer(config, target)

    def encode(self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]) -> Memory:
        if self.reverse_source:
            source = reverse(source, source_mask)
        states, last = self.encoder(self.source(source), mask=source_mask)
        return Memory(states, source_mask, last)

    def decode(
        self, memory: Memory, target: Int[Tensor, "B T"], target_mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        x = self.target(target)
        if self.feed_summary:
            x = torch.cat([x, _summary(memory).unsqueeze(1).expand_as(x)], -1)
        hidden, _ = self.decoder(x, memory.last)
        dropped: Tensor = self.dropout(hidden)
        return dropped

    def start(self, memory: Memory, max_length: int) -> RecurrentState:
        return RecurrentState((*memory.last, _summary(memory)))

    def step(self, state: RecurrentState, tokens: Int[Tensor, "R"]) -> Float[Tensor, "R D"]:
        *past, summary = state.rows
        x = self.target(tokens)
        if self.feed_summary:
            x = torch.cat([x, summary], -1)
        hidden, after = self.decoder.step(x, tuple(past))
        state.advance((*after, summary))
        return hidden

    def reorder(self, state: RecurrentState, rows: Int[Tensor, "B N"]) -> None:
        state.reorder(rows)


def _stack(config: EncoderDecoderConfig, d_input: int) -> Stack:
    return Stack(
        config.cell,
        d_input,
        config.d_model,
        config.layers,
        dropout=config.dropout,
        has_norm=config.cell_norm,
    )


def _summary(memory: Memory) -> Float[Tensor, "B D"]:
    """The last output of the encoder: h of its top layer."""
    real_end = memory.mask.sum(1) - 1
    return memory.states[torch.arange(len(real_end), device=real_end.device), real_end]
