"""ByteNet, "Neural Machine Translation in Linear Time" (Kalchbrenner et al. 2016), section 3.

source ─ embedding ─ dilated convolutions ─ s_1 … s_n
target ─ embedding + s_t ─ masked dilated convolutions ─ output ─ softmax

Without attention: the decoder stands on the encoder, and writing its t-th token it is given
the t-th column of the source. What it needs from elsewhere must come through convolutions,
whose reach doubles with every block: 1 + (k − 1) · Σ r inputs for kernels of width k and
dilations r.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, cast

import torch
import torch.nn.functional as F
from annotated_types import Ge, Le
from torch import nn
from typing_extensions import Doc

from regard.attention import padding_mask
from regard.errors import ConfigError
from regard.models.interface import (
    Layers,
    Memory,
    ModelConfig,
    Probability,
    Seq2Seq,
    Sharing,
    Width,
)
from regard.models.rows import Move
from regard.models.words import Words, embeddings, output_layer
from regard.native.linear import Linear
from regard.nn.convolution import Past, windows
from regard.nn.dropout import Dropout
from regard.nn.norm import LayerNorm
from regard.nn.recompute import Recomputing
from regard.shapes import Bool, Float, Int, Tensor


@dataclass(frozen=True, kw_only=True)
class ByteNetConfig(ModelConfig):
    """The shape of a ByteNet; the paper's has d_model = 1600 and 6 sets each side."""

    arch: Annotated[Literal["bytenet"], Doc("which architecture")] = "bytenet"
    d_model: Annotated[Width, Doc("width between the blocks; inside them half of it")] = 256
    kernel: Annotated[int, Ge(1), Le(101), Doc("inputs that one convolution sees; odd")] = 3
    max_dilation: Annotated[
        int, Ge(1), Le(4096), Doc("a set of blocks has dilations 1, 2, 4 … up to this")
    ] = 16
    encoder_sets: Annotated[Layers, Doc("sets of encoder blocks")] = 2
    decoder_sets: Annotated[Layers, Doc("sets of decoder blocks")] = 2
    length_factor: Annotated[
        float, Ge(1), Le(10), Doc("columns that the encoder makes for each source token, about")
    ] = 1.2
    length_extra: Annotated[int, Ge(0), Le(1000), Doc("columns beyond that")] = 0
    dropout: Annotated[Probability, Doc("on embeddings and on every block's output")] = 0.2
    share_embeddings: Annotated[
        Sharing, Doc("one matrix for source, target and output; for target and output; or three")
    ] = "all"

    def __post_init__(self) -> None:
        for name in ("kernel", "d_model"):
            value, rest = getattr(self, name), int(name == "kernel")
            if value % 2 != rest:
                kind = "odd" if rest else "even"
                raise ConfigError(f"model.{name} = {value} must be {kind}; try {value + 1}")
        if self.max_dilation & (self.max_dilation - 1):
            below = 2 ** (self.max_dilation.bit_length() - 1)
            raise ConfigError(
                f"model.max_dilation = {self.max_dilation} is no power of two; try {below}"
            )

    def dilations(self, num_sets: int) -> list[int]:
        """Of every block: they double up to the largest, then begin again (section 3.5)."""
        return [2**i for i in range(self.max_dilation.bit_length())] * num_sets

    def num_columns(self, source: int) -> int:
        """|t̂| = a |s| + b, how many columns the encoder makes of a source (section 3.2)."""
        return math.ceil(self.length_factor * source) + self.length_extra

    def summary(self) -> str:
        return (
            f"{len(self.dilations(self.encoder_sets))} + {len(self.dilations(self.decoder_sets))} "
            f"blocks of {self.kernel}, dilated up to {self.max_dilation}, d_model {self.d_model:,}"
        )

    def products(self, vocabulary: int, source: int, target: int) -> int:
        """With width 2d between the blocks and kernels of width k:

        a block   (2 + k + 2) d² a column       before the output layer   4 d² a token
        """
        d = self.d_model // 2
        block = (4 + self.kernel) * d * d
        encoder = self.num_columns(source) * len(self.dilations(self.encoder_sets)) * block
        decoder = target * (len(self.dilations(self.decoder_sets)) * block + 4 * d * d)
        return encoder + decoder + target * vocabulary * self.d_model


class Block(nn.Module):
    """A residual block with ReLUs: narrow, convolve, widen (figure 3, left; section 3.6).

        y = x + W_3 a(W_2 [a(W_1 a(x)) …] ),   a(x) = max(0, LayerNorm(x))

    W_1 from 2d to d, W_2 of a window of k columns to d, W_3 back to 2d. Differs: dropout on what
    is added.

    Args:
        config: its shape.
        dilation: how far apart the columns under the kernel stand.
        is_causal: whether no column sees a later one ("masked", section 3.4).
    """

    def __init__(self, config: ByteNetConfig, dilation: int, *, is_causal: bool) -> None:
        super().__init__()
        d, self.kernel = config.d_model // 2, config.kernel
        self.dilation = dilation
        self.is_causal = is_causal
        self.narrow = _linear(2 * d, d)
        self.convolution = _linear(self.kernel * d, d)
        self.widen = _linear(d, 2 * d)
        self.norms = nn.ModuleList(LayerNorm(width) for width in (2 * d, d, d))
        self.dropout = Dropout(config.dropout)

    def forward(
        self, x: Float[Tensor, "B T D"], is_real: Float[Tensor, "B T 1"] | None = None
    ) -> Float[Tensor, "B T D"]:
        """The columns that are not real are zero for those that look at them."""
        inside = self._enter(x)
        if is_real is not None:
            inside = inside * is_real
        window = windows(inside, self.kernel, self.dilation, is_causal=self.is_causal)
        return self._leave(x, window)

    def step(self, x: Float[Tensor, "R 1 D"], past: Past) -> Float[Tensor, "R 1 D"]:
        """The same for one more column, with those before it in the past."""
        return self._leave(x, past.window(self._enter(x).squeeze(1)).unsqueeze(1))

    def _enter(self, x: Tensor) -> Tensor:
        before, between, _ = self.norms
        return F.relu(between(self.narrow(F.relu(before(x)))))

    def _leave(self, x: Tensor, window: Tensor) -> Tensor:
        *_, after = self.norms
        widened = self.widen(F.relu(after(self.convolution(window))))
        return self.dropout.add(x, widened)


class Encoder(Recomputing):
    """Blocks that look both ways, and a normalisation, so that columns have an embedding's size."""

    def __init__(self, config: ByteNetConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            Block(config, dilation, is_causal=False)
            for dilation in config.dilations(config.encoder_sets)
        )
        self.norm = LayerNorm(config.d_model)

    def forward(
        self, x: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]
    ) -> Float[Tensor, "B S D"]:
        is_real = mask.unsqueeze(-1).to(x.dtype)  # B S 1
        for layer in self.layers:
            x = self.apply_block(layer, x, is_real)
        columns: Tensor = self.norm(x) * is_real
        return columns


@dataclass(slots=True)
class ByteNetState:
    """Where decoding stands.

    Attributes:
        pasts: what each block still looks back at, one row a hypothesis.
        columns: what the encoder made of the source, one row a sentence.
        length: how many steps were taken.
    """

    pasts: list[Past]
    columns: Float[Tensor, "B S D"]
    length: int = 0


class Decoder(Recomputing):
    """Masked blocks, then W max(0, LayerNorm(x))."""

    def __init__(self, config: ByteNetConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            Block(config, dilation, is_causal=True)
            for dilation in config.dilations(config.decoder_sets)
        )
        self.norm = LayerNorm(config.d_model)
        self.outer = _linear(config.d_model, config.d_model)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        # Padding stands after the sentence, where no real position looks.
        for layer in self.layers:
            x = self.apply_block(layer, x)
        return self._top(x)

    def start(self, columns: Float[Tensor, "B S D"]) -> ByteNetState:
        num_sentences, _, width = columns.shape
        pasts = [
            Past(columns, num_sentences, width // 2, block.kernel, block.dilation)
            for block in self._blocks()
        ]
        return ByteNetState(pasts, columns)

    def step(self, x: Float[Tensor, "R 1 D"], state: ByteNetState) -> Float[Tensor, "R 1 D"]:
        for block, past in zip(self._blocks(), state.pasts, strict=True):
            x = block.step(x, past)
        state.length += 1
        return self._top(x)

    def _top(self, x: Tensor) -> Tensor:
        hidden: Tensor = self.outer(F.relu(self.norm(x)))
        return hidden

    def _blocks(self) -> Iterator[Block]:
        return iter(cast("list[Block]", list(self.layers)))


class ByteNet(Seq2Seq[ByteNetState]):
    """The dilated convolutional encoder-decoder.

    The source is lengthened with empty columns to |t̂| = a |s| + b, and the decoder, fed t tokens,
    reads the column s_t along with the last of them; beyond |t̂| it reads nothing new (section
    3.2, dynamic unfolding). Differs: pieces of words, as every other system here, in place of
    bytes; column and embedding are added, of which the paper says nothing, and the column is
    normalised before.

    Args:
        config: its shape.
        source_vocabulary: number of source tokens.
        target_vocabulary: number of target tokens.
    """

    def __init__(
        self, config: ByteNetConfig, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__()
        self.config = config
        source, target = embeddings(config, source_vocabulary, target_vocabulary)
        self.source = Words(source, config.dropout)
        self.target = Words(target, config.dropout)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.output = output_layer(config, target)

    def encode(self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]) -> Memory:
        """The states are columns, of which a sentence has more than tokens."""
        counts = [self.config.num_columns(length) for length in source_mask.sum(1).tolist()]
        embedded = self.source(source) * source_mask.unsqueeze(-1)
        lengthened = F.pad(embedded, (0, 0, 0, max(counts) - embedded.shape[1]))
        mask = padding_mask(torch.tensor(counts, device=source.device), max(counts))
        return Memory(self.encoder(lengthened, mask), mask)

    def decode(
        self, memory: Memory, target: Int[Tensor, "B T"], target_mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        # A negative padding cuts what no token stands on.
        columns = F.pad(memory.states, (0, 0, 0, target.shape[1] - memory.states.shape[1]))
        hidden: Tensor = self.decoder(self.target(target) + columns)
        return hidden

    def start(self, memory: Memory, max_length: int) -> ByteNetState:
        return self.decoder.start(memory.states)

    def step(self, state: ByteNetState, tokens: Int[Tensor, "R"]) -> Float[Tensor, "R D"]:
        embedded = self.target(tokens.unsqueeze(1))  # R 1 D
        if state.length < state.columns.shape[1]:
            column = state.columns[:, state.length]  # B D
            num_hypotheses = len(tokens) // len(column)
            embedded = embedded + column.repeat_interleave(num_hypotheses, 0).unsqueeze(1)
        return self.decoder.step(embedded, state).squeeze(1)

    def reorder(self, state: ByteNetState, rows: Int[Tensor, "B N"]) -> None:
        move = Move.of(rows, state.pasts[0].num_rows, len(state.columns))
        if move.rows is not None:
            for past in state.pasts:
                past.reorder(move.rows)
        if move.sentences is not None:
            state.columns = state.columns[move.sentences]


def _linear(d_in: int, d_out: int) -> nn.Linear:
    """A linear map of what a ReLU let through (He et al. 2015, equation 10)."""
    linear = Linear(d_in, d_out)
    nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
    nn.init.zeros_(linear.bias)
    return linear
