"""Attention on top of a recurrent decoder: three scores, global or local, with input feeding.

source ─ embedding ─ LSTM … LSTM ─────────────┐ states, and the last as the decoder's first
target ─ embedding ─ LSTM … LSTM ─ attention ─ tanh ─ output ─ softmax
              └────────── input feeding ─────────┘

Luong, Pham & Manning 2015, "Effective Approaches to Attention-based Neural Machine Translation".
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Gt
from torch import nn
from typing_extensions import Doc

from regard.attention import (
    Additive,
    Bilinear,
    KeyValue,
    LocalMonotonic,
    LocalPredictive,
    SingleHead,
    Window,
)
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
from regard.nn.recurrence import Stack, cell_products
from regard.nn.recurrent import State
from regard.shapes import Bool, Float, Int, Tensor

ScoreKind = Literal["dot", "general", "concat"]
Reach = Literal["global", "local-m", "local-p"]


@dataclass(frozen=True, kw_only=True)
class LuongConfig(ModelConfig):
    """The shape of Luong's model; the paper's has 4 layers of 1,000 units."""

    arch: Annotated[Literal["luong"], Doc("which architecture")] = "luong"
    d_model: Annotated[Width, Doc("width of embeddings and states")] = 256
    layers: Annotated[Layers, Doc("LSTM layers of the encoder, and of the decoder")] = 2
    score: Annotated[ScoreKind, Doc("how a source state answers a target state")] = "general"
    reach: Annotated[
        Reach, Doc("every source position; those around the step's own; around a predicted one")
    ] = "global"
    half_width: Annotated[int, Gt(0), Doc("of a local window, D in the paper")] = 10
    input_feeding: Annotated[
        bool,
        Doc("tell each step what the last one attended to; steps then wait for one another"),
    ] = True
    dropout: Annotated[Probability, Doc("on embeddings and on every layer's output")] = 0.2
    share_embeddings: Annotated[
        Sharing, Doc("one matrix for source, target and output; for target and output; or three")
    ] = "all"

    def summary(self) -> str:
        feeding = "input feeding" if self.input_feeding else "no input feeding"
        return (
            f"{self.layers} + {self.layers} layers of lstm, d_model {self.d_model:,}, "
            f"{self.reach} attention, {self.score} score, {feeding}"
        )

    def products(self, vocabulary: int, source: int, target: int) -> int:
        d = self.d_model
        layers = (source + target) * self.layers * cell_products("lstm", d, d)
        feeding = target * 4 * d * d if self.input_feeding else 0
        keys = {"dot": 0, "general": source, "concat": source + target}[self.score] * d * d
        window = target * (d * d + d) if self.reach == "local-p" else 0
        # The score of a pair and its share of the context; a window is computed as a mask.
        attention = keys + window + 2 * target * source * d
        return layers + feeding + attention + target * (2 * d * d + vocabulary * d)


class Luong(Seq2Seq[RecurrentState]):
    """A stacked LSTM that attends with the state it has just reached.

        h_t = LSTM([E y_{t−1} ; h̃_{t−1}], h_{t−1})              input feeding (section 3.3)
        score(h_t, h̄_s) = h_tᵀ h̄_s                              dot
                          h_tᵀ W_a h̄_s                          general
                          v_aᵀ tanh(W_a [h_t ; h̄_s])            concat (under equation 7)
        a_t = softmax_s score,   c_t = Σ_s a_t(s) h̄_s           global, or inside a window:
                                 local-m, local-p (equations 9, 10; `attention.windows`)
        h̃_t = tanh(W_c [c_t ; h_t])                             (equation 5)
        p(y_t | y_{<t}, x) = softmax(W_s h̃_t)                   (equation 6)

    The query is the state after the step. Without input feeding no step needs the attention
    of the one before: training runs torch's kernel over the whole target and then attends from
    all steps in one product. With it, which the paper found worth 1.3 BLEU, the steps run one
    by one. Differs: the source is not reversed.

    Args:
        config: its shape.
        source_vocabulary: number of source tokens.
        target_vocabulary: number of target tokens.
    """

    def __init__(self, config: LuongConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        d_model, dropout = config.d_model, config.dropout
        self.input_feeding = config.input_feeding
        source, target = embeddings(config, source_vocabulary, target_vocabulary)
        self.source = Words(source, dropout)
        self.target = Words(target, dropout)
        d_input = 2 * d_model if config.input_feeding else d_model
        self.encoder = Stack("lstm", d_model, d_model, config.layers, dropout=dropout)
        self.decoder = Stack("lstm", d_input, d_model, config.layers, dropout=dropout)
        self.cross_attention = SingleHead(_score(config), _window(config))
        self.combine = nn.Linear(2 * d_model, d_model, bias=False)
        self.dropout = Dropout(dropout)
        self.output = output_layer(config, target)

    def encode(self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]) -> Memory:
        states, last = self.encoder(self.source(source), mask=source_mask)
        return Memory(states, source_mask, last)

    def decode(
        self, memory: Memory, target: Int[Tensor, "B T"], target_mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        words = self.target(target)
        if not self.input_feeding:
            hidden, _ = self.decoder(words, memory.last)
            return self._attend(hidden, self._keys(memory), _keys_mask(memory))
        state = self.start(memory, target.shape[1])
        return torch.stack([self._step(state, word) for word in words.unbind(1)], 1)

    def start(self, memory: Memory, max_length: int) -> RecurrentState:
        nothing = torch.zeros_like(memory.last[0])
        rows = (*memory.last, nothing) if self.input_feeding else memory.last
        return RecurrentState(rows, self._keys(memory), _keys_mask(memory))

    def step(self, state: RecurrentState, tokens: Int[Tensor, "R"]) -> Float[Tensor, "R D"]:
        return self._step(state, self.target(tokens))

    def reorder(self, state: RecurrentState, rows: Int[Tensor, "B N"]) -> None:
        state.reorder(rows)

    def _step(self, state: RecurrentState, word: Float[Tensor, "R D"]) -> Float[Tensor, "R D"]:
        """One step, as training with input feeding and decoding take it."""
        past: State = state.rows
        if self.input_feeding:
            *lower, fed = past
            past, word = tuple(lower), torch.cat([word, fed], -1)
        hidden, after = self.decoder.step(word, past)
        queries = state.by_sentence(hidden)
        assert state.memory is not None and state.mask is not None
        positions = state.positions(queries.shape[1])
        attended = self._attend(queries, state.memory, state.mask, positions).flatten(0, 1)
        state.advance((*after, attended) if self.input_feeding else after)
        return attended

    def _attend(
        self,
        hidden: Float[Tensor, "B T D"],
        keys: KeyValue,
        mask: Bool[Tensor, "B 1 1 S"],
        positions: Int[Tensor, "T"] | None = None,
    ) -> Float[Tensor, "B T D"]:
        """h̃, the attentional hidden state (equation 5)."""
        hidden = self.dropout(hidden)
        context = self.cross_attention(hidden, keys, mask, positions)
        attentional: Tensor = self.dropout(
            torch.tanh(self.combine(torch.cat([context, hidden], -1)))
        )
        return attentional

    def _keys(self, memory: Memory) -> KeyValue:
        return self.cross_attention.project_memory(memory.states)


def _keys_mask(memory: Memory) -> Bool[Tensor, "B 1 1 S"]:
    return memory.mask[:, None, None, :]


def _score(config: LuongConfig) -> Additive | Bilinear | None:
    d_model = config.d_model
    match config.score:
        case "dot":
            return None
        case "general":
            return Bilinear(d_model, d_model)
        case "concat":
            return Additive(d_model, d_model, d_model)


def _window(config: LuongConfig) -> Window | None:
    match config.reach:
        case "global":
            return None
        case "local-m":
            return LocalMonotonic(config.half_width)
        case "local-p":
            return LocalPredictive(config.d_model, config.half_width)
