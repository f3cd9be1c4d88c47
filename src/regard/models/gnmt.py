"""Google's neural machine translation system: deep residual LSTMs with one attention.

source ─ embedding ─ LSTM in both directions ─ LSTM ─ LSTM + … ──────────┐ top states
target ─ embedding ─ bottom LSTM, which attends ─ LSTM ─ LSTM + … ─ output ─ softmax
                        └─ context, to every layer ┴──────┘

Wu et al. 2016, "Google's Neural Machine Translation System", sections 3.1 and 3.2. Its length
and coverage penalties are `decoding.penalty` and `lens.coverage`, its fine-tuning on rewards
`train.reward`.

With experts it is the translation model of Shazeer et al. 2017, "Outrageously Large Neural
Networks", appendix E: a mixture of experts between the second and third layer of the encoder
and between the first and second of the decoder.
"""

from dataclasses import dataclass
from typing import Annotated, Literal, cast

import torch
from annotated_types import Ge, Le
from torch import nn
from typing_extensions import Doc

from regard.models.attentive import AttentiveCell, attentive_products
from regard.models.interface import Memory, ModelConfig, Probability, Seq2Seq, Sharing, Width
from regard.models.recurrent_state import RecurrentState
from regard.models.words import Words, embeddings, output_layer
from regard.nn.dropout import Dropout
from regard.nn.experts import MixtureOfExperts, check_experts
from regard.nn.recurrence import Bidirectional, Recurrence, cell_products
from regard.nn.recurrent import LSTM
from regard.shapes import Bool, Float, Int, Tensor

# Residual connections begin at the third layer from the bottom (section 3.1).
FIRST_RESIDUAL = 3


@dataclass(frozen=True, kw_only=True)
class GNMTConfig(ModelConfig):
    """The shape of GNMT; the paper's has 8 layers of 1,024 units each side."""

    arch: Annotated[Literal["gnmt"], Doc("which architecture")] = "gnmt"
    d_model: Annotated[Width, Doc("width of embeddings, layers and of the attention")] = 256
    layers: Annotated[
        int, Ge(2), Le(500), Doc("LSTM layers of the encoder, and of the decoder")
    ] = 3
    dropout: Annotated[Probability, Doc("on embeddings and on every layer's output")] = 0.2
    share_embeddings: Annotated[
        Sharing, Doc("one matrix for source, target and output; for target and output; or three")
    ] = "all"
    experts: Annotated[
        int, Ge(0), Le(65_536), Doc("feed-forward networks to choose from, each side; 0 is none")
    ] = 0
    experts_top_k: Annotated[Width, Doc("how many of them a position visits")] = 2
    experts_balance: Annotated[
        float, Ge(0), Le(100), Doc("weight of the two losses that keep experts equally busy")
    ] = 0.01
    d_expert: Annotated[Width, Doc("hidden width of an expert")] = 512

    def __post_init__(self) -> None:
        if self.experts:
            check_experts(self.experts, self.experts_top_k)

    def summary(self) -> str:
        experts = f", {self.experts_top_k} of {self.experts} experts" if self.experts else ""
        return (
            f"{self.layers} + {self.layers} residual layers of lstm, d_model {self.d_model:,}"
            f"{experts}"
        )

    def products(self, vocabulary: int, source: int, target: int) -> int:
        d, above = self.d_model, self.layers - 2
        bottom = 2 * cell_products("lstm", d, d) + cell_products("lstm", 2 * d, d)
        encoder = source * (bottom + above * cell_products("lstm", d, d))
        attentive = attentive_products("lstm", d, d, d, d, source, target)
        decoder = target * (self.layers - 1) * cell_products("lstm", 2 * d, d)
        experts = 0
        if self.experts:
            visits = self.experts_top_k * 2 * d * self.d_expert
            experts = (source + target) * (visits + d * self.experts)
        return encoder + attentive + decoder + experts + target * vocabulary * d


class GNMT(Seq2Seq[RecurrentState]):
    """Deep LSTMs made trainable by residual connections.

        m_t^k = LSTM_k(x_t^{k−1}),   x_t^k = m_t^k + x_t^{k−1}        (equation 6)

    from the third layer on; x^k = m^k below. The encoder's bottom layer reads in both
    directions, side by side. The decoder's bottom layer attends, with its own state before the
    step, to the encoder's top layer (equation 4), and the context a_i is read by every layer of
    the decoder: layer k reads [x_t^{k−1} ; a_t]. So only the bottom layer has to go step by
    step; the others run over the whole target by torch's kernel. Differs: the decoder starts
    from zeros, of which the paper says nothing; layers are not spread over processors. Experts
    are added to what they read; Shazeer et al. also have fewer LSTM layers, three in the
    encoder and two in the decoder, and an attention of products of tanh in the place of the
    additive one.

    Args:
        config: its shape.
        source_vocabulary: number of source tokens.
        target_vocabulary: number of target tokens.
    """

    def __init__(self, config: GNMTConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        d, above = config.d_model, config.layers - 1
        source, target = embeddings(config, source_vocabulary, target_vocabulary)
        self.source = Words(source, config.dropout)
        self.target = Words(target, config.dropout)
        self.encoder_bottom = Bidirectional("lstm", d, d)
        self.encoder = nn.ModuleList(
            Recurrence(LSTM(2 * d if i == 0 else d, d)) for i in range(above)
        )
        self.decoder_bottom = AttentiveCell("lstm", d, d, d, d)
        self.decoder = nn.ModuleList(Recurrence(LSTM(2 * d, d)) for _ in range(above))
        self.encoder_experts, self.decoder_experts = _experts(config), _experts(config)
        self.dropout = Dropout(config.dropout)
        self.output = output_layer(config, target)

    def encode(self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]) -> Memory:
        x, _, _ = self.encoder_bottom(self.source(source), source_mask)
        for number, layer in enumerate(self.encoder, 2):
            m, _ = layer(self.dropout(x), mask=source_mask)
            x = _residual(number, x, m)
            if number == 2:
                x = self._ask(self.encoder_experts, x, source_mask)
        return Memory(x, source_mask)

    def decode(
        self, memory: Memory, target: Int[Tensor, "B T"], target_mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        words = self.target(target)
        x, contexts = self.decoder_bottom(words, self.decoder_bottom.cell.start(words), memory)
        x = self._ask(self.decoder_experts, x, target_mask)
        for number, layer in enumerate(self.decoder, 2):
            m, _ = layer(torch.cat([self.dropout(x), contexts], -1))
            x = _residual(number, x, m)
        hidden: Tensor = self.dropout(x)
        return hidden

    def start(self, memory: Memory, max_length: int) -> RecurrentState:
        state = self.decoder_bottom.cell.start(memory.states)
        return RecurrentState(state * (1 + len(self.decoder)), *self.decoder_bottom.keys(memory))

    def step(self, state: RecurrentState, tokens: Int[Tensor, "R"]) -> Float[Tensor, "R D"]:
        pasts = zip(state.rows[::2], state.rows[1::2], strict=True)  # h, c of each layer
        after, context = self.decoder_bottom.step(self.target(tokens), next(pasts), state)
        rows, x = [*after], self._ask(self.decoder_experts, after[0].unsqueeze(1)).squeeze(1)
        layers = cast("list[Recurrence]", list(self.decoder))
        for number, (layer, past) in enumerate(zip(layers, pasts, strict=True), 2):
            after = layer.step(torch.cat([x, context], -1), past)
            rows += after
            x = _residual(number, x, after[0])
        state.advance(tuple(rows))
        return x

    def reorder(self, state: RecurrentState, rows: Int[Tensor, "B N"]) -> None:
        state.reorder(rows)

    def _ask(
        self, experts: MixtureOfExperts | None, x: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """What was read, and what the experts say of it, if there are any."""
        return x if experts is None else self.dropout.add(x, experts(x, mask))


def _experts(config: GNMTConfig) -> MixtureOfExperts | None:
    if not config.experts:
        return None
    return MixtureOfExperts(
        config.d_model,
        config.d_expert,
        config.experts,
        config.experts_top_k,
        balance=config.experts_balance,
    )


def _residual(number: int, x: Tensor, m: Tensor) -> Tensor:
    """x^k, from what layer k read and what it made of it."""
    return m + x if number >= FIRST_RESIDUAL else m
