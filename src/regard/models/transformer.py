"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017), sections 3.1 to 3.5.

source ─ Embedder ─ Encoder ───────────────┐ memory
target ─ Embedder ─ Decoder(causal self, cross to memory, feed-forward) ─ output ─ softmax
"""

from dataclasses import dataclass
from typing import Annotated, Literal, cast

from annotated_types import Ge, Le
from torch import nn
from typing_extensions import Doc

from regard.attention import KeyValue, KeyValueCache, MultiHead
from regard.errors import ConfigError
from regard.models.interface import (
    Layers,
    Memory,
    ModelConfig,
    Positions,
    Probability,
    Seq2Seq,
    Sharing,
    Width,
)
from regard.models.rows import Move
from regard.models.words import embeddings, output_layer
from regard.nn.dropout import Dropout
from regard.nn.embedding import Embedding
from regard.nn.experts import MixtureOfExperts, check_experts
from regard.nn.feed_forward import Activation, FeedForward
from regard.nn.norm import NORMS, NormKind
from regard.nn.position import POSITIONS, Position, PositionKind
from regard.nn.recompute import Recomputing
from regard.nn.residual import NormPlace, Residual
from regard.shapes import Bool, Float, Int, Tensor


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(ModelConfig):
    """The shape of a Transformer; the defaults are the paper's base model (table 3)."""

    arch: Annotated[Literal["transformer"], Doc("which architecture")] = "transformer"
    d_model: Annotated[Width, Doc("width of every state between the sub-layers")] = 512
    heads: Annotated[Width, Doc("attention heads; must divide d_model")] = 8
    d_ff: Annotated[Width, Doc("hidden width of the feed-forward network")] = 2048
    encoder_layers: Annotated[Layers, Doc("encoder blocks")] = 6
    decoder_layers: Annotated[Layers, Doc("decoder blocks; few of them decode fast")] = 6
    dropout: Annotated[Probability, Doc("on embeddings and on every sub-layer's output")] = 0.1
    dropout_attention: Annotated[
        Probability, Doc("on attention weights; above 0 the fused kernel is lost")
    ] = 0.0
    dropout_ff: Annotated[Probability, Doc("inside the feed-forward network")] = 0.0
    dropout_words: Annotated[
        Probability, Doc("on whole tokens, of which the position is left; try 0.1 on little data")
    ] = 0.0
    activation: Annotated[Activation, Doc("of the feed-forward network")] = "relu"
    norm: Annotated[NormKind, Doc("layer norm, or batch norm to see why not")] = "layer"
    norm_place: Annotated[
        NormPlace, Doc("post: after the sum, as in the paper; pre: before the sub-layer")
    ] = "post"
    position: Annotated[
        PositionKind, Doc("how order is told; fraction and integer are the two rejected ideas")
    ] = "sinusoid"
    max_positions: Annotated[Positions, Doc("longest sentence in pieces")] = 1024
    share_embeddings: Annotated[
        Sharing,
        Doc("one matrix for source, target and output; for target and output; or three"),
    ] = "all"
    output_bias: Annotated[bool, Doc("add a learned number to every token's score")] = False
    d_key: Annotated[
        int, Ge(0), Le(65_536), Doc("width of a head's queries and keys; 0 is d_model / heads")
    ] = 0
    residual: Annotated[
        bool, Doc("add what a sub-layer reads to what it says, or not, to see why")
    ] = True
    experts: Annotated[
        Width, Doc("feed-forward networks that each position chooses from; 1 is no choice")
    ] = 1
    experts_top_k: Annotated[Width, Doc("how many of them a position visits")] = 2
    experts_balance: Annotated[
        float, Ge(0), Le(100), Doc("weight of the two losses that keep experts equally busy")
    ] = 0.01

    def __post_init__(self) -> None:
        if self.d_model % self.heads:
            fit = next(h for h in range(self.heads, 0, -1) if self.d_model % h == 0)
            raise ConfigError(
                f"model.heads = {self.heads} does not divide model.d_model = {self.d_model}; "
                f"try {fit}"
            )
        if self.experts > 1:
            check_experts(self.experts, self.experts_top_k)

    def summary(self) -> str:
        experts = f", {self.experts_top_k} of {self.experts} experts" if self.experts > 1 else ""
        return (
            f"{self.encoder_layers} + {self.decoder_layers} layers, {self.heads} heads, "
            f"d_model {self.d_model:,}, d_ff {self.d_ff:,}{experts}"
        )

    def products(self, vocabulary: int, source: int, target: int) -> int:
        """With n tokens of width d, hidden width f and a vocabulary of V:

            projections of self-attention   4 d² a token        feed-forward   2 d f a token
            QKᵀ and αV                      2 n d a token       output layer   V d a token

        so a layer costs n · d² + n² · d up to constants: while the sentence is shorter than the
        model is wide, attention itself is the cheap part (Vaswani et al. 2017, table 1). With
        d_key of their own, queries and keys have the width h d_key in place of d. With experts a
        token takes k of them and a gate, d E.
        """
        d, f = self.d_model, self.d_ff
        keys = self.heads * self.d_key or d
        feed_forward = 2 * d * f
        if self.experts > 1:
            feed_forward = self.experts_top_k * feed_forward + d * self.experts
        both = d * (keys + d)  # keys and values of a token, or its query and what is made of it
        look = keys + d  # one query at one key
        encoder = source * (2 * both + feed_forward) + source * source * look
        # A causal query looks at (T + 1) / 2 keys in the mean.
        self_attention = target * 2 * both + target * (target + 1) // 2 * look
        cross_attention = (target + source) * both + target * source * look
        decoder = self_attention + cross_attention + target * feed_forward
        layers = self.encoder_layers * encoder + self.decoder_layers * decoder
        return layers + target * vocabulary * d

    @property
    def max_source(self) -> int:
        return self.max_positions

    @property
    def max_target(self) -> int | None:
        return self.max_positions if self.position == "learned" else None


PRESETS: dict[str, TransformerConfig] = {
    "nano": TransformerConfig(d_model=64, heads=4, d_ff=128, encoder_layers=2, decoder_layers=2),
    "tiny": TransformerConfig(d_model=128, heads=4, d_ff=256, encoder_layers=4, decoder_layers=4),
    "small": TransformerConfig(d_model=256, heads=4, d_ff=1024, encoder_layers=6, decoder_layers=2),
    "base": TransformerConfig(),
    "big": TransformerConfig(d_model=1024, heads=16, d_ff=4096, dropout=0.3),
}


class Embedder(nn.Module):
    """Token embedding plus position, with dropout on the sum (sections 3.4, 3.5, 5.4).

    Differs: before that, whole tokens may be dropped (Gal & Ghahramani 2016, section 4.2;
    Sennrich & Zhang 2019 for translation from little data), each by itself and not each word of the
    vocabulary wherever it stands.
    """

    def __init__(
        self, embedding: Embedding, position: Position, dropout: float, dropout_words: float = 0.0
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.position = position
        self.dropout = Dropout(dropout)
        self.dropout_words = Dropout(dropout_words)

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        offset: int = 0,
        lengths: Int[Tensor, "B"] | None = None,
    ) -> Float[Tensor, "B T D"]:
        words: Tensor = self.embedding(tokens)
        if self.training and self.dropout_words.num_dropped > 0:
            words = words * self.dropout_words(words.new_ones(*tokens.shape, 1))
        dropped: Tensor = self.dropout(words + self.position(tokens, offset, lengths))
        return dropped


class EncoderBlock(nn.Module):
    """Self-attention, then feed-forward, each inside a residual connection (figure 1, left)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = _multi_head(config)
        self.feed_forward = _feed_forward(config)
        self.residuals = nn.ModuleList(_residual(config) for _ in range(2))

    def forward(
        self, x: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]
    ) -> Float[Tensor, "B S D"]:
        around_attention, around_feed_forward = self.residuals
        keys = mask[:, None, None, :]  # B 1 1 S
        x = around_attention(x, lambda x: self.self_attention(x, mask=keys), mask)
        x = around_feed_forward(x, lambda x: self.feed_forward(x, mask), mask)
        return x


class DecoderBlock(nn.Module):
    """Masked self-attention, cross-attention, feed-forward (figure 1, right).

    Without cross-attention it is the block of a decoder-only model.
    """

    def __init__(self, config: TransformerConfig, *, has_cross: bool = True) -> None:
        super().__init__()
        self.self_attention = _multi_head(config)
        self.cross_attention = _multi_head(config) if has_cross else None
        self.feed_forward = _feed_forward(config)
        self.residuals = nn.ModuleList(_residual(config) for _ in range(2 + has_cross))

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        mask: Bool[Tensor, "B T"],
        memory: Memory | None = None,
    ) -> Float[Tensor, "B T D"]:
        # Padding stands after the sentence, where no real query looks: causality hides it.
        around_self, *around_cross, around_feed_forward = self.residuals
        x = around_self(x, lambda x: self.self_attention(x, is_causal=True), mask)
        if self.cross_attention is not None:
            assert memory is not None, "this block has cross-attention"
            keys = memory.mask[:, None, None, :]  # B 1 1 S
            cross = self.cross_attention
            x = around_cross[0](x, lambda x: cross(x, memory.states, keys), mask)
        x = around_feed_forward(x, lambda x: self.feed_forward(x, mask), mask)
        return x

    def step(
        self,
        x: Float[Tensor, "R 1 D"],
        cache: KeyValueCache,
        memory: KeyValue | None = None,
        memory_mask: Bool[Tensor, "B 1 1 S"] | None = None,
    ) -> Float[Tensor, "R 1 D"]:
        """The same for one position, with everything before it in the cache."""
        around_self, *around_cross, around_feed_forward = self.residuals
        x = around_self(x, lambda x: self._step_self(x, cache))
        if self.cross_attention is not None:
            assert memory is not None, "this block has cross-attention"
            x = around_cross[0](x, lambda x: self._step_cross(x, memory, memory_mask))
        x = around_feed_forward(x, self.feed_forward)
        return x

    def _step_self(self, x: Tensor, cache: KeyValueCache) -> Tensor:
        past = cache.append(self.self_attention.project_memory(x))
        return self.self_attention.attend_to(x, past)

    def _step_cross(self, x: Tensor, memory: KeyValue, mask: Tensor | None) -> Tensor:
        """The rows of one sentence are so many queries to one memory, which is not copied."""
        assert self.cross_attention is not None
        queries = x.view(len(memory.key), -1, x.shape[-1])  # B N D
        return self.cross_attention.attend_to(queries, memory, mask).view_as(x)


class Encoder(Recomputing):
    """A stack of encoder blocks; with pre-norm, one last normalisation on top."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderBlock(config) for _ in range(config.encoder_layers))
        self.norm = NORMS[config.norm](config.d_model) if config.norm_place == "pre" else None

    def forward(
        self, x: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]
    ) -> Float[Tensor, "B S D"]:
        for layer in self.layers:
            x = self.apply_block(layer, x, mask)
        return self.norm(x, mask) if self.norm is not None else x


@dataclass(slots=True)
class DecoderState:
    """Where decoding stands: the past of every layer, and the source it looks at.

    Attributes:
        caches: self-attention's keys and values, one cache a layer, one row a hypothesis.
        memory: cross-attention's keys and values, one a layer, one row a sentence.
        memory_mask: True at real source positions.
        length: how many steps were taken.
    """

    caches: list[KeyValueCache]
    memory: list[KeyValue]
    memory_mask: Bool[Tensor, "B 1 1 S"] | None
    length: int = 0


class Decoder(Recomputing):
    """A stack of decoder blocks; with pre-norm, one last normalisation on top."""

    def __init__(self, config: TransformerConfig, *, has_cross: bool = True) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            DecoderBlock(config, has_cross=has_cross) for _ in range(config.decoder_layers)
        )
        self.norm = NORMS[config.norm](config.d_model) if config.norm_place == "pre" else None

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        mask: Bool[Tensor, "B T"],
        memory: Memory | None = None,
    ) -> Float[Tensor, "B T D"]:
        for layer in self.layers:
            x = self.apply_block(layer, x, mask, memory)
        return self.norm(x, mask) if self.norm is not None else x

    def start(self, memory: Memory | None, max_length: int) -> DecoderState:
        """Project the memory once for all steps to come."""
        caches = [KeyValueCache(max_length) for _ in self.layers]
        if memory is None:
            return DecoderState(caches, [], None)
        projected = [
            block.cross_attention.project_memory(memory.states)
            for block in self._blocks()
            if block.cross_attention is not None
        ]
        return DecoderState(caches, projected, memory.mask[:, None, None, :])

    def step(self, x: Float[Tensor, "R 1 D"], state: DecoderState) -> Float[Tensor, "R 1 D"]:
        for i, block in enumerate(self._blocks()):
            memory = state.memory[i] if state.memory else None
            x = block.step(x, state.caches[i], memory, state.memory_mask)
        state.length += 1
        return self.norm(x) if self.norm is not None else x

    def reorder(self, state: DecoderState, rows: Int[Tensor, "B N"]) -> None:
        """Let rows continue other rows, and drop the sentences that none belongs to."""
        num_rows = state.caches[0].num_rows
        num_sentences = num_rows if state.memory_mask is None else len(state.memory_mask)
        move = Move.of(rows, num_rows, num_sentences)
        if move.rows is not None:
            for cache in state.caches:
                cache.reorder(move.rows)
        if move.sentences is not None and state.memory_mask is not None:
            state.memory = [memory.select(move.sentences) for memory in state.memory]
            state.memory_mask = state.memory_mask[move.sentences]

    def _blocks(self) -> list[DecoderBlock]:
        return cast("list[DecoderBlock]", list(self.layers))


class Transformer(Seq2Seq[DecoderState]):
    """The encoder-decoder Transformer.

    Args:
        config: its shape.
        source_vocabulary: number of source tokens.
        target_vocabulary: number of target tokens.
    """

    def __init__(
        self, config: TransformerConfig, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__()
        d_model = config.d_model
        self.is_divisible = config.norm != "batch" and config.dropout_attention == 0
        source, target = embeddings(config, source_vocabulary, target_vocabulary)
        position = POSITIONS[config.position]
        dropout = config.dropout, config.dropout_words
        self.source = Embedder(source, position(d_model, config.max_positions), *dropout)
        self.target = Embedder(target, position(d_model, config.max_positions), *dropout)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.output = output_layer(config, target, bias=config.output_bias)

    def encode(self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]) -> Memory:
        embedded = self.source(source, lengths=source_mask.sum(1))
        return Memory(self.encoder(embedded, source_mask), source_mask)

    def decode(
        self, memory: Memory, target: Int[Tensor, "B T"], target_mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        hidden: Tensor = self.decoder(self.target(target), target_mask, memory)
        return hidden

    def start(self, memory: Memory, max_length: int) -> DecoderState:
        return self.decoder.start(memory, max_length)

    def step(self, state: DecoderState, tokens: Int[Tensor, "R"]) -> Float[Tensor, "R D"]:
        embedded = self.target(tokens.unsqueeze(1), offset=state.length)
        return self.decoder.step(embedded, state).squeeze(1)

    def reorder(self, state: DecoderState, rows: Int[Tensor, "B N"]) -> None:
        self.decoder.reorder(state, rows)


def _multi_head(config: TransformerConfig) -> MultiHead:
    return MultiHead(
        config.d_model,
        config.heads,
        d_key=config.d_key or None,
        d_value=config.d_model // config.heads,
        dropout=config.dropout_attention,
    )


def _feed_forward(config: TransformerConfig) -> FeedForward | MixtureOfExperts:
    if config.experts == 1:
        return FeedForward(config.d_model, config.d_ff, config.activation, config.dropout_ff)
    return MixtureOfExperts(
        config.d_model,
        config.d_ff,
        config.experts,
        config.experts_top_k,
        balance=config.experts_balance,
        activation=config.activation,
        dropout=config.dropout_ff,
    )


def _residual(config: TransformerConfig) -> Residual:
    return Residual(
        config.d_model,
        config.norm_place,
        config.norm,
        config.dropout,
        adds_input=config.residual,
    )
