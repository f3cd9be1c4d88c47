"""A Transformer made ready for decoding: the same arithmetic in fewer, larger operations.

Its parameters are gathered once. Queries, keys and values of self-attention are one product, as
are the keys and values of the memory; matrices are laid out for the processor (`nn.product`);
no module is called, no hypothesis copied (`attention.slots`); all layers of a step are one call
(`native.decoder`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import nn

from regard.attention import (
    Ancestry,
    KeyValue,
    MultiHead,
    Sight,
    Slots,
    attend_in_batches,
    attend_rows,
)
from regard.decoding.sources import Sources
from regard.models.transformer import DecoderBlock, Embedder, EncoderBlock, Transformer
from regard.native import decoder as native
from regard.native import kernels
from regard.nn.experts import MixtureOfExperts
from regard.nn.feed_forward import ACTIVATIONS, FeedForward
from regard.nn.norm import LayerNorm
from regard.nn.product import FloatProduct, Int8Product, Product, product_of
from regard.nn.residual import Residual
from regard.shapes import Bool, Float, Int, Tensor

Rows = Float[Tensor, "R D"]

# Rows up to which one call for all layers pays where matrices are not packed for it, and oneDNN
# multiplies faster.
FEW_ROWS = 8
# Steps after which dead slots are looked for.
DROP_EVERY = 6


@dataclass(slots=True)
class CompactState:
    """Where decoding stands.

    Attributes:
        past: self-attention's keys and values, one a layer.
        ancestry: which of them belong to which row.
        memory: cross-attention's keys and values, one a layer.
        lengths: of the sources, without padding; None where there is none.
        blocks: which of the stored sentences each sentence is: those that are over stay where
            they are for a while; None: they are in order.
        length: how many steps were taken.
    """

    past: list[Slots]
    ancestry: Ancestry
    memory: list[KeyValue]
    lengths: Int[Tensor, "B"] | None
    blocks: Int[Tensor, "B"] | None = None
    length: int = 0


class _Around:
    """A residual connection and its normalisation, as `Residual` without dropout."""

    def __init__(self, residual: Residual) -> None:
        self.norm = _Norm(residual.norm)
        self.is_pre = residual.place == "pre"

    def __call__(self, x: Tensor, sublayer: Callable[..., Tensor], *arguments: Any) -> Tensor:
        if self.is_pre:
            return sublayer(self.norm(x), *arguments).add_(x)
        return self.norm(sublayer(x, *arguments).add_(x))


def _around(residuals: nn.ModuleList) -> list[_Around]:
    return [_Around(cast("Residual", residual)) for residual in residuals]


class _Norm:
    def __init__(self, norm: nn.Module) -> None:
        assert isinstance(norm, LayerNorm)
        self.weights = native.Norm(norm.weight.detach(), norm.bias.detach(), norm.eps)

    def __call__(self, x: Tensor) -> Tensor:
        weight, bias, epsilon = self.weights
        return torch.layer_norm(x, weight.shape, weight, bias, epsilon)


class _Attention:
    """What self- and cross-attention share: heads, apart and together again."""

    def __init__(self, attention: MultiHead) -> None:
        self.heads = attention.heads
        self.output = product_of([attention.output])

    def split(self, x: Tensor, batch: int, parts: int) -> Float[Tensor, "P B H T K"]:
        """Rows of `parts` vectors side by side, by part, sentence, head and position."""
        return x.view(batch, -1, parts, self.heads, x.shape[1] // parts // self.heads).permute(
            2, 0, 3, 1, 4
        )


class _SelfAttention(_Attention):
    def __init__(self, attention: MultiHead) -> None:
        super().__init__(attention)
        self.project = product_of([attention.query, attention.key, attention.value])

    def read(self, x: Rows, sources: Sources) -> Rows:
        """Every position of a sentence sees every real one."""
        packed = self.project(x)
        if self._is_for_kernel(packed, sources.longest):
            found = kernels.attend_sentences(packed, sources.begins, sources.longest, self.heads)
            return self.output(found)
        batch, width = sources.mask.shape
        query, key, value = self.split(sources.pad(packed), batch, 3).flatten(1, 2)
        bias = sources.bias
        if bias is not None:
            shape = batch, self.heads, 1, width
            bias = bias.to(x.dtype).expand(shape).reshape(-1, 1, width)
        found = attend_in_batches(query, key, value, bias)  # G S K
        heads = found.view(batch, self.heads, *found.shape[1:]).transpose(1, 2)
        return self.output(sources.unpad(heads.reshape(batch * width, -1)))

    def _is_for_kernel(self, packed: Tensor, longest: int) -> bool:
        width = packed.shape[1] // 3 // self.heads
        is_small = longest <= kernels.MOST_POSITIONS and width <= kernels.MOST_WIDTH
        return kernels.can_take(packed) and is_small and width % kernels.SIXTEEN == 0

    def step(self, x: Rows, past: Slots, ancestry: Ancestry, own: Sight) -> Rows:
        """Every row sees its own past."""
        query, new = self.project(x).split([x.shape[1], 2 * x.shape[1]], 1)
        parts = self.split(new, ancestry.num_sentences, 2)
        keys, values = past.append(parts, ancestry.num_slots, own.blocks)
        return self.output(attend_rows(query, keys, values, own))


class _CrossAttention(_Attention):
    def __init__(self, attention: MultiHead) -> None:
        super().__init__(attention)
        self.query = product_of([attention.query])
        self.memory = product_of([attention.key, attention.value])

    def project_memory(self, states: Rows, batch: int) -> KeyValue:
        keys, values = self.split(self.memory(states), batch, 2).clone(
            memory_format=torch.contiguous_format
        )
        return KeyValue(keys, values)

    def step(self, x: Rows, memory: KeyValue, source: Sight) -> Rows:
        """The rows of a sentence are so many queries to its one memory."""
        return self.output(attend_rows(self.query(x), *memory, source))


class _FeedForward:
    def __init__(self, feed_forward: FeedForward | MixtureOfExperts) -> None:
        assert isinstance(feed_forward, FeedForward)
        self.inner = product_of([feed_forward.inner])
        self.outer = product_of([feed_forward.outer])
        self.activation = feed_forward.activation
        self.width = len(feed_forward.inner.weight)

    def __call__(self, x: Rows) -> Rows:
        return self.outer(self.activation(self.inner(x)))


class _EncoderBlock:
    def __init__(self, block: EncoderBlock) -> None:
        self.attention = _SelfAttention(block.self_attention)
        self.feed_forward = _FeedForward(block.feed_forward)
        self.around_attention, self.around_feed_forward = _around(block.residuals)

    def __call__(self, x: Rows, sources: Sources) -> Rows:
        x = self.around_attention(x, self.attention.read, sources)
        return self.around_feed_forward(x, self.feed_forward)


class _DecoderBlock:
    def __init__(self, block: DecoderBlock) -> None:
        assert block.cross_attention is not None
        self.self_attention = _SelfAttention(block.self_attention)
        self.cross_attention = _CrossAttention(block.cross_attention)
        self.feed_forward = _FeedForward(block.feed_forward)
        self.around_self, self.around_cross, self.around_feed_forward = _around(block.residuals)

    def step(
        self, x: Rows, past: Slots, ancestry: Ancestry, own: Sight, memory: KeyValue, source: Sight
    ) -> Rows:
        """Every row sees its own past, and its source."""
        x = self.around_self(x, self.self_attention.step, past, ancestry, own)
        x = self.around_cross(x, self.cross_attention.step, memory, source)
        return self.around_feed_forward(x, self.feed_forward)

    @property
    def shape(self) -> tuple[tuple[int, ...], tuple[bool, ...], int]:
        """Heads of both attentions, where the norms stand, and the inner width."""
        heads = self.self_attention.heads, self.cross_attention.heads
        around = self.around_self, self.around_cross, self.around_feed_forward
        return heads, tuple(each.is_pre for each in around), self.feed_forward.width

    def weights(self) -> native.Layer | None:
        """What the compiled decoder needs; None where it cannot do what this layer does."""
        products = (
            *(self.self_attention.project, self.self_attention.output),
            *(self.cross_attention.query, self.cross_attention.output),
            *(self.feed_forward.inner, self.feed_forward.outer),
        )
        matrices = [matrix for each in products if (matrix := _matrix(each)) is not None]
        is_relu = self.feed_forward.activation is ACTIVATIONS["relu"]
        if len(matrices) < len(products) or not is_relu:
            return None
        project, output, query, memory_output, inner, outer = matrices
        around = self.around_self, self.around_cross, self.around_feed_forward
        first, second, third = (each.norm.weights for each in around)
        norms = first, second, third
        return native.Layer(project, output, query, memory_output, inner, outer, norms)


def _matrix(product: Product) -> native.AnyMatrix | None:
    """A product as the compiled decoder takes it; None where it does not."""
    assert isinstance(product, FloatProduct | Int8Product)
    packed = product.packed()
    if packed is None and isinstance(product, FloatProduct) and product.is_for_kernel:
        return native.Matrix(product.weight, product.bias)
    return packed


class Compact:
    """Equals `Transformer` in encoding and stepping, to float tolerance.

    Args:
        model: its weights as they are now are what is decoded with.
    """

    def __init__(self, model: Transformer) -> None:
        self.source, self.target = model.source, model.target
        encoder = cast("list[EncoderBlock]", list(model.encoder.layers))
        decoder = cast("list[DecoderBlock]", list(model.decoder.layers))
        self.encoder = [_EncoderBlock(block) for block in encoder]
        self.decoder = [_DecoderBlock(block) for block in decoder]
        self.encoder_norm = None if model.encoder.norm is None else _Norm(model.encoder.norm)
        self.decoder_norm = None if model.decoder.norm is None else _Norm(model.decoder.norm)
        self.output = product_of([model.output])
        self.heads = self.decoder[0].self_attention.heads
        self._native = self._native_decoder()

    def prepare(self) -> None:
        """Lay out every matrix now; else each is when it is first needed."""
        with torch.inference_mode():
            for product in self._products():
                product.prepare()

    def start(self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]) -> CompactState:
        """Read the sources; a state with one row a sentence and nothing decoded."""
        batch = len(source)
        sources = Sources(source_mask)
        embedded = _embed(self.source, source, lengths=sources.lengths)
        x = sources.unpad(embedded.flatten(0, 1))
        for block in self.encoder:
            x = block(x, sources)
        if self.encoder_norm is not None:
            x = self.encoder_norm(x)
        x = sources.pad(x)
        memory = [block.cross_attention.project_memory(x, batch) for block in self.decoder]
        # A translation is about as long as its source.
        past = [Slots(source.shape[1]) for _ in self.decoder]
        lengths = sources.lengths if sources.is_padded else None
        return CompactState(past, Ancestry(batch), memory, lengths)

    def step(self, state: CompactState, tokens: Int[Tensor, "R"]) -> Rows:
        """Feed each row its last token; return the hidden states that predict the next."""
        x = _embed(self.target, tokens.unsqueeze(1), offset=state.length).squeeze(1)
        own = state.ancestry.extend(state.blocks)
        num_source = state.memory[0].key.shape[2]
        source = Sight(num_source, lengths=state.lengths, blocks=state.blocks)
        if (
            self._native is not None
            and (self._native.is_packed or len(x) <= FEW_ROWS)
            and kernels.can_take(x, state.memory[0].key)
        ):
            self._step_natively(self._native, x, state, own)
        else:
            for block, past, memory in zip(self.decoder, state.past, state.memory, strict=True):
                x = block.step(x, past, state.ancestry, own, memory, source)
        state.length += 1
        return x if self.decoder_norm is None else self.decoder_norm(x)

    def reorder(self, state: CompactState, rows: Int[Tensor, "B N"]) -> None:
        """Let row (b, n) continue what row `rows[b, n]` was; sentences keep their order."""
        lanes, is_fewer = state.ancestry.lanes, rows.shape[0] < state.ancestry.num_sentences
        if not is_fewer and rows.shape[1] == lanes == 1:
            return
        state.ancestry.reorder(rows)
        if is_fewer:
            sentences = rows[:, 0] // lanes
            state.blocks = sentences if state.blocks is None else state.blocks[sentences]
            if state.lengths is not None:
                state.lengths = state.lengths[sentences]
            # Without kernels every step would copy what it looks at; and what is over is not to
            # take more room than what goes on.
            stored = state.memory[0].key
            if not kernels.can_take(stored) or 2 * len(sentences) <= len(stored):
                self._close_up(state)
        if state.length % DROP_EVERY == 0:
            kept = state.ancestry.drop_dead()
            if kept is not None:
                for past in state.past:
                    past.keep(kept, state.blocks)
                self._close_up(state, has_past=False)

    def _close_up(self, state: CompactState, *, has_past: bool = True) -> None:
        """Move the sentences that go on together."""
        if state.blocks is None:
            return
        if has_past:
            for past in state.past:
                past.select(state.blocks, state.ancestry.num_slots)
        state.memory = [memory.select(state.blocks) for memory in state.memory]
        state.blocks = None

    def _native_decoder(self) -> native.Decoder | None:
        """The compiled decoder, where it can do what these layers do."""
        layers = [layer for block in self.decoder if (layer := block.weights()) is not None]
        if len(layers) < len(self.decoder) or len({block.shape for block in self.decoder}) > 1:
            return None
        heads, places, _ = self.decoder[0].shape
        if len(set(heads)) > 1 or len(set(places)) > 1:
            return None
        return native.Decoder(layers, self.heads, is_pre=places[0])

    def _step_natively(
        self, decoder: native.Decoder, x: Rows, state: CompactState, own: Sight
    ) -> None:
        ancestry = state.ancestry
        shape = ancestry.num_sentences, self.heads, x.shape[1] // self.heads
        room = ancestry.num_slots, ancestry.lanes, shape, x.dtype
        past = [each.with_room(*room) for each in state.past]
        seen = own.places, state.memory, state.lengths, state.blocks
        decoder.step(x, past, ancestry.num_slots, *seen)

    def _products(self) -> Iterator[Product]:
        yield self.output
        for encoder in self.encoder:
            attention, feed_forward = encoder.attention, encoder.feed_forward
            yield from (attention.project, attention.output)
            yield from (feed_forward.inner, feed_forward.outer)
        for decoder in self.decoder:
            past, memory = decoder.self_attention, decoder.cross_attention
            yield from (past.project, past.output, memory.query, memory.memory, memory.output)
            yield from (decoder.feed_forward.inner, decoder.feed_forward.outer)


def _embed(
    embedder: Embedder, tokens: Int[Tensor, "B T"], offset: int = 0, lengths: Tensor | None = None
) -> Float[Tensor, "B T D"]:
    """What the embedder does, but for its dropout."""
    embedding = embedder.embedding
    x = torch.embedding(embedding.weight, tokens)
    position: Tensor = embedder.position(tokens, offset, lengths)
    return position.add(x, alpha=embedding.scale)


def has_compact_form(model: nn.Module) -> bool:
    """Whether `Compact` has all that this model needs.

    It has residual connections with layer norms, heads of one width, feed-forward networks and
    kernels for a CPU; and of attention, the scaled inner product that nobody looks into.
    """
    if not isinstance(model, Transformer) or model.target.embedding.weight.device.type != "cpu":
        return False
    for module in model.modules():
        match module:
            case MultiHead() if len(module.query.weight) != len(module.value.weight):
                return False
            case Residual() if not (module.adds_input and isinstance(module.norm, LayerNorm)):
                return False
            case MixtureOfExperts():
                return False
    return True
