"""ConvS2S, "Convolutional Sequence to Sequence Learning" (Gehring et al. 2017), section 3.

source ─ Embedder e ─┬ gated convolutions ─ z ─┐ keys z, values z + e
                     └─────────────────────────┤
target ─ Embedder g ─ causal gated convolutions, each looking at the source ─ output ─ softmax

A state sees as far as the kernels reach: L layers of width k see L(k − 1) + 1 inputs. All
sums of two are multiplied by √0.5, which keeps the variance (section 3.4).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, cast

import torch
import torch.nn.functional as F
from annotated_types import Ge, Le
from torch import nn
from typing_extensions import Doc

from regard.attention import Attend, KeyValue
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
from regard.models.transformer import Embedder
from regard.models.words import embeddings, output_layer
from regard.nn.convolution import Past, windows
from regard.nn.dropout import Dropout
from regard.nn.position import POSITIONS, PositionKind
from regard.nn.recompute import Recomputing
from regard.nn.weight_norm import WeightNorm
from regard.shapes import Bool, Float, Int, Tensor

ROOT_HALF = math.sqrt(0.5)


@dataclass(frozen=True, kw_only=True)
class ConvS2SConfig(ModelConfig):
    """The shape of a ConvS2S; the defaults fit a corpus of some ten thousand pairs."""

    arch: Annotated[Literal["convs2s"], Doc("which architecture")] = "convs2s"
    d_model: Annotated[Width, Doc("width of embeddings, and of what attention compares")] = 256
    d_hidden: Annotated[Width, Doc("width of the states between the convolutions")] = 256
    kernel: Annotated[int, Ge(1), Le(101), Doc("inputs that one convolution sees; odd")] = 3
    encoder_layers: Annotated[Layers, Doc("encoder convolutions")] = 4
    decoder_layers: Annotated[Layers, Doc("decoder convolutions, each with attention")] = 3
    dropout: Annotated[
        Probability, Doc("on embeddings, on what enters a convolution and on the last states")
    ] = 0.2
    position: Annotated[PositionKind, Doc("how order is told; the paper's are learned")] = "learned"
    max_positions: Annotated[Positions, Doc("longest sentence in pieces")] = 1024
    share_embeddings: Annotated[
        Sharing, Doc("one matrix for source, target and output; for target and output; or three")
    ] = "all"

    def __post_init__(self) -> None:
        if self.kernel % 2 == 0:
            raise ConfigError(f"model.kernel = {self.kernel} has no middle; try {self.kernel + 1}")

    def summary(self) -> str:
        return (
            f"{self.encoder_layers} + {self.decoder_layers} gated convolutions of {self.kernel}, "
            f"d_model {self.d_model:,}, d_hidden {self.d_hidden:,}"
        )

    def products(self, vocabulary: int, source: int, target: int) -> int:
        """With embeddings of width f, states of width d and kernels of width k:

        a convolution           2 k d² a token      to and from the states   2 d f a token
        queries and contexts    2 d f a token       dᵀz and αv   2 S f a token and layer
        """
        d, f = self.d_hidden, self.d_model
        convolution, ends = self.kernel * 2 * d * d, 2 * d * f
        encoder = source * (self.encoder_layers * convolution + ends)
        attention = 2 * d * f + 2 * source * f
        decoder = target * (self.decoder_layers * (convolution + attention) + ends)
        return encoder + decoder + target * vocabulary * f

    @property
    def max_source(self) -> int:
        return self.max_positions

    @property
    def max_target(self) -> int | None:
        return self.max_positions if self.position == "learned" else None


class GatedConvolution(WeightNorm):
    """A convolution whose one half gates the other.

        h_i = v(W [x_{i − k/2}; …; x_{i + k/2}] + b),   v([A B]) = A ⊗ σ(B)

    Section 3.2; the map is weight-normalised, and starts as N(0, 3p/n) for n inputs of which
    the share p is not dropped. Differs: section 3.5 has 4p/n, for small inputs, whose gates are
    all half open; with inputs of variance 1, as here, 3p/n keeps the variance.
    """

    def __init__(self, config: ConvS2SConfig) -> None:
        d_in = config.kernel * config.d_hidden
        super().__init__(d_in, 2 * config.d_hidden, std=math.sqrt(3 * (1 - config.dropout) / d_in))


class EncoderBlock(nn.Module):
    """h^l = v(W^l [h^{l−1} …] + b^l) + h^{l−1}, section 3.2."""

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        self.kernel = config.kernel
        self.dropout = Dropout(config.dropout)
        self.convolution = GatedConvolution(config)

    def forward(
        self, x: Float[Tensor, "B S D"], scale: Float[Tensor, "B S 1"]
    ) -> Float[Tensor, "B S D"]:
        """The scale is √0.5 at real positions and 0 in the padding, where a paper has nothing."""
        window = windows(self.dropout(x), self.kernel, is_causal=False)
        return (x + F.glu(self.convolution(window), -1)) * scale


class Encoder(Recomputing):
    """Convolutions between two linear maps, from embeddings and back to their width.

    Args:
        config: its shape.
        num_readers: attentions that read the output. Its gradient is divided by their number,
            lest the encoder learn too fast (section 3.4).
    """

    def __init__(self, config: ConvS2SConfig, num_readers: int) -> None:
        super().__init__()
        self.share = 1 / num_readers
        self.inner = _linear(config.d_model, config.d_hidden, kept=1 - config.dropout)
        self.layers = nn.ModuleList(EncoderBlock(config) for _ in range(config.encoder_layers))
        self.outer = _linear(config.d_hidden, config.d_model)

    def forward(
        self, embedded: Float[Tensor, "B S Df"], mask: Bool[Tensor, "B S"]
    ) -> Float[Tensor, "B S Df"]:
        is_real = mask.unsqueeze(-1).to(embedded.dtype)  # B S 1
        x = self.inner(embedded) * is_real
        for layer in self.layers:
            x = self.apply_block(layer, x, is_real * ROOT_HALF)
        z: Tensor = self.outer(x)
        return z.detach() + self.share * (z - z.detach())


Map = Callable[[Tensor], Tensor]


class Maps(NamedTuple):
    """The linear maps of a decoder block, their weights computed."""

    convolve: Map
    query: Map
    context: Map


class MultiStepAttention(nn.Module):
    """Attention of one decoder layer to the source.

        d_i = W_d h_i + b_d + g_i                                         (1)
        a_ij = softmax_j(d_i · z_j),   c_i = Σ_j a_ij (z_j + e_j)         (2)

    Section 3.3; g_i embeds the target token fed at i, z_j is what the encoder says of source
    token j and e_j its embedding. Differs: d_i · z_j is divided by √f, f their width, because
    embeddings start with variance 1 here and with 0.01 there.
    """

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        self.query = _linear(config.d_hidden, config.d_model)
        self.context = _linear(config.d_model, config.d_hidden)
        self.attend = Attend()

    def forward(
        self,
        h: Float[Tensor, "B T D"],
        previous: Float[Tensor, "B T Df"],
        memory: KeyValue,
        mask: Bool[Tensor, "B 1 1 S"],
        maps: Maps,
    ) -> Float[Tensor, "B T D"]:
        query = (maps.query(h) + previous) * ROOT_HALF
        seen = self.attend(query.unsqueeze(1), memory.key, memory.value, mask)  # B 1 T Df
        return maps.context(seen.squeeze(1))


class DecoderBlock(nn.Module):
    """A causal gated convolution, attention added to it, and a residual connection around both.

        h = v(W [x_{i − k + 1}; …; x_i] + b),   y_i = h_i + c_i + x_i

    Sections 3.2 and 3.3.
    """

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        self.kernel = config.kernel
        self.dropout = Dropout(config.dropout)
        self.convolution = GatedConvolution(config)
        self.cross_attention = MultiStepAttention(config)

    def maps(self) -> Maps:
        """Its linear maps, for many steps."""
        cross = self.cross_attention
        return Maps(self.convolution.fixed(), cross.query.fixed(), cross.context.fixed())

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        previous: Float[Tensor, "B T Df"],
        memory: KeyValue,
        mask: Bool[Tensor, "B 1 1 S"],
    ) -> Float[Tensor, "B T D"]:
        # Padding stands after the sentence, where no real position looks.
        window = windows(self.dropout(x), self.kernel, is_causal=True)
        return self._combine(x, window, previous, memory, mask, self.maps())

    def step(
        self,
        x: Float[Tensor, "B N D"],
        previous: Float[Tensor, "B N Df"],
        past: Past,
        memory: KeyValue,
        mask: Bool[Tensor, "B 1 1 S"],
        maps: Maps,
    ) -> Float[Tensor, "B N D"]:
        """The same for one more position of the N hypotheses of each sentence."""
        window = past.window(x.flatten(0, 1)).unflatten(0, x.shape[:2])
        return self._combine(x, window, previous, memory, mask, maps)

    def _combine(
        self,
        x: Tensor,
        window: Tensor,
        previous: Tensor,
        memory: KeyValue,
        mask: Tensor,
        maps: Maps,
    ) -> Tensor:
        h = F.glu(maps.convolve(window), -1)
        seen = self.cross_attention(h, previous, memory, mask, maps)
        y: Tensor = (x + (h + seen) * ROOT_HALF) * ROOT_HALF
        return y


@dataclass(slots=True)
class ConvState:
    """Where decoding stands.

    Attributes:
        pasts: what each layer still looks back at, one row a hypothesis.
        maps: the linear maps of each layer.
        ends: those into the first layer and out of the last.
        memory: the keys and values that all layers attend to, one row a sentence.
        memory_mask: True at real source positions.
        length: how many steps were taken.
    """

    pasts: list[Past]
    maps: list[Maps]
    ends: tuple[Map, Map]
    memory: KeyValue
    memory_mask: Bool[Tensor, "B 1 1 S"]
    length: int = 0


class Decoder(Recomputing):
    """Decoder blocks between two linear maps, from embeddings and back to their width."""

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        self.inner = _linear(config.d_model, config.d_hidden, kept=1 - config.dropout)
        self.layers = nn.ModuleList(DecoderBlock(config) for _ in range(config.decoder_layers))
        self.outer = _linear(config.d_hidden, config.d_model)
        self.dropout = Dropout(config.dropout)

    def forward(
        self,
        embedded: Float[Tensor, "B T Df"],
        memory: KeyValue,
        mask: Bool[Tensor, "B 1 1 S"],
    ) -> Float[Tensor, "B T Df"]:
        x = self.inner(embedded)
        for layer in self.layers:
            x = self.apply_block(layer, x, embedded, memory, mask)
        hidden: Tensor = self.dropout(self.outer(x))
        return hidden

    def start(self, memory: KeyValue, mask: Bool[Tensor, "B 1 1 S"]) -> ConvState:
        """Compute the layers' weights once for all steps to come."""
        d_hidden = self.inner.direction.shape[0]
        blocks = self._blocks()
        pasts = [Past(memory.key, len(mask), d_hidden, block.kernel) for block in blocks]
        maps = [block.maps() for block in blocks]
        return ConvState(pasts, maps, (self.inner.fixed(), self.outer.fixed()), memory, mask)

    def step(self, embedded: Float[Tensor, "R Df"], state: ConvState) -> Float[Tensor, "R Df"]:
        # The rows of one sentence are so many queries to one memory, which is not copied.
        previous = embedded.unflatten(0, (len(state.memory_mask), -1))  # B N Df
        inner, outer = state.ends
        x = inner(previous)
        for block, past, maps in zip(self._blocks(), state.pasts, state.maps, strict=True):
            x = block.step(x, previous, past, state.memory, state.memory_mask, maps)
        state.length += 1
        return outer(x).flatten(0, 1)

    def reorder(self, state: ConvState, rows: Int[Tensor, "B N"]) -> None:
        """Let rows continue other rows, and drop the sentences that none belongs to."""
        move = Move.of(rows, state.pasts[0].num_rows, len(state.memory_mask))
        if move.rows is not None:
            for past in state.pasts:
                past.reorder(move.rows)
        if move.sentences is not None:
            state.memory = state.memory.select(move.sentences)
            state.memory_mask = state.memory_mask[move.sentences]

    def _blocks(self) -> list[DecoderBlock]:
        return cast("list[DecoderBlock]", list(self.layers))


class ConvS2S(Seq2Seq[ConvState]):
    """The convolutional encoder-decoder.

    Args:
        config: its shape.
        source_vocabulary: number of source tokens.
        target_vocabulary: number of target tokens.
    """

    def __init__(
        self, config: ConvS2SConfig, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__()
        source, target = embeddings(config, source_vocabulary, target_vocabulary)
        position = POSITIONS[config.position]
        sizes = config.d_model, config.max_positions
        self.source = Embedder(source, position(*sizes), config.dropout)
        self.target = Embedder(target, position(*sizes), config.dropout)
        self.encoder = Encoder(config, num_readers=config.decoder_layers)
        self.decoder = Decoder(config)
        self.output = output_layer(config, target)

    def encode(self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]) -> Memory:
        """The states are z and e side by side."""
        embedded = self.source(source, lengths=source_mask.sum(1))
        encoded = self.encoder(embedded, source_mask)
        return Memory(torch.cat([encoded, embedded], -1), source_mask)

    def decode(
        self, memory: Memory, target: Int[Tensor, "B T"], target_mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        hidden: Tensor = self.decoder(self.target(target), *_offered(memory))
        return hidden

    def start(self, memory: Memory, max_length: int) -> ConvState:
        return self.decoder.start(*_offered(memory))

    def step(self, state: ConvState, tokens: Int[Tensor, "R"]) -> Float[Tensor, "R D"]:
        embedded = self.target(tokens.unsqueeze(1), offset=state.length).squeeze(1)
        return self.decoder.step(embedded, state)

    def reorder(self, state: ConvState, rows: Int[Tensor, "B N"]) -> None:
        self.decoder.reorder(state, rows)


def _offered(memory: Memory) -> tuple[KeyValue, Bool[Tensor, "B 1 1 S"]]:
    """What attention finds at the source: keys z, values z + e, and where they are real.

    A mean of m vectors has an m-th of their variance, if all weigh the same; √m makes up for it
    (section 3.4).
    """
    encoded, embedded = memory.states.chunk(2, -1)
    root = memory.mask.sum(1).sqrt()[:, None, None]  # B 1 1
    values = (encoded + embedded) * (ROOT_HALF * root)
    return KeyValue(encoded.unsqueeze(1), values.unsqueeze(1)), memory.mask[:, None, None, :]


def _linear(d_in: int, d_out: int, kept: float = 1.0) -> WeightNorm:
    """A weight-normalised map of inputs of which the share `kept` is not dropped (section 3.5)."""
    return WeightNorm(d_in, d_out, std=math.sqrt(kept / d_in))
