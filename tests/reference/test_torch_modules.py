"""Our modules against torch.nn's, given the same weights."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from regard.attention import MultiHead
from regard.models.interface import Memory
from regard.models.transformer import (
    DecoderBlock,
    EncoderBlock,
    Transformer,
    TransformerConfig,
)
from regard.nn.norm import BatchNorm, LayerNorm
from regard.nn.residual import NormPlace
from regard.shapes import Tensor

B, T, S, D, HEADS, FF = 2, 5, 7, 16, 4, 24
TINY = TransformerConfig(
    d_model=D, heads=HEADS, d_ff=FF, encoder_layers=2, decoder_layers=2, dropout=0.0
)
PLACES: list[NormPlace] = ["post", "pre"]
places = pytest.mark.parametrize("place", PLACES)

SOURCE_MASK = torch.arange(S) < torch.tensor([7, 4]).unsqueeze(1)
TARGET_MASK = torch.arange(T) < torch.tensor([5, 3]).unsqueeze(1)


def stir(module: nn.Module) -> None:
    """Random values in every parameter: a bias of 0 or a γ of 1 would hide a mistake."""
    torch.manual_seed(0)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)


def states(length: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(B, length, D, generator=generator).requires_grad_()


def copy_linear(ours: nn.Module, theirs: nn.Module) -> None:
    theirs.load_state_dict(ours.state_dict())


@torch.no_grad()
def copy_attention(ours: MultiHead, theirs: nn.MultiheadAttention) -> None:
    projections = (ours.query, ours.key, ours.value)
    theirs.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
    theirs.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
    copy_linear(ours.output, theirs.out_proj)


def copy_encoder_block(ours: EncoderBlock, theirs: nn.TransformerEncoderLayer) -> None:
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_linear(ours.get_submodule("feed_forward.inner"), theirs.linear1)
    copy_linear(ours.get_submodule("feed_forward.outer"), theirs.linear2)
    for residual, norm in zip(ours.residuals, (theirs.norm1, theirs.norm2), strict=True):
        copy_linear(residual.get_submodule("norm"), norm)


def copy_decoder_block(ours: DecoderBlock, theirs: nn.TransformerDecoderLayer) -> None:
    assert ours.cross_attention is not None
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    copy_linear(ours.get_submodule("feed_forward.inner"), theirs.linear1)
    copy_linear(ours.get_submodule("feed_forward.outer"), theirs.linear2)
    norms = (theirs.norm1, theirs.norm2, theirs.norm3)
    for residual, norm in zip(ours.residuals, norms, strict=True):
        copy_linear(residual.get_submodule("norm"), norm)


def assert_same(ours: Tensor, theirs: Tensor, *inputs: Tensor, mask: Tensor | None = None) -> None:
    """Equal values and equal gradients with respect to the inputs, at the real positions."""
    if mask is not None:
        ours, theirs = ours[mask], theirs[mask]
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    weights = torch.linspace(-1, 1, ours.numel()).view_as(ours)
    our_gradients = torch.autograd.grad((ours * weights).sum(), inputs)
    their_gradients = torch.autograd.grad((theirs * weights).sum(), inputs)
    torch.testing.assert_close(our_gradients, their_gradients, rtol=1e-3, atol=1e-5)


@pytest.fixture
def attentions() -> tuple[MultiHead, nn.MultiheadAttention]:
    ours, theirs = MultiHead(D, HEADS), nn.MultiheadAttention(D, HEADS, batch_first=True)
    stir(ours)
    copy_attention(ours, theirs)
    return ours, theirs


Attentions = tuple[MultiHead, nn.MultiheadAttention]


def test_self_attention_is_torchs(attentions: Attentions) -> None:
    ours, theirs = attentions
    x = states(T)
    assert_same(ours(x), theirs(x, x, x)[0], x)


def test_cross_attention_is_torchs(attentions: Attentions) -> None:
    ours, theirs = attentions
    x, memory = states(T), states(S, seed=2)
    assert_same(ours(x, memory), theirs(x, memory, memory)[0], x, memory)


def test_masked_attention_is_torchs(attentions: Attentions) -> None:
    ours, theirs = attentions
    x, memory = states(T), states(S, seed=2)
    expected, _ = theirs(x, memory, memory, key_padding_mask=~SOURCE_MASK)
    assert_same(ours(x, memory, SOURCE_MASK[:, None, None, :]), expected, x, memory)


def test_causal_attention_is_torchs(attentions: Attentions) -> None:
    ours, theirs = attentions
    x = states(T)
    forbidden = torch.ones(T, T).triu(1).bool()
    assert_same(ours(x, is_causal=True), theirs(x, x, x, attn_mask=forbidden)[0], x)


def test_the_gradients_of_the_projections_are_torchs(attentions: Attentions) -> None:
    ours, theirs = attentions
    x = states(T)
    ours(x).square().sum().backward()
    theirs(x, x, x)[0].square().sum().backward()
    projections = (ours.query, ours.key, ours.value)
    our_gradients = [p.weight.grad for p in projections if p.weight.grad is not None]
    assert theirs.in_proj_weight.grad is not None
    torch.testing.assert_close(
        torch.cat(our_gradients), theirs.in_proj_weight.grad, rtol=1e-3, atol=1e-4
    )


@places
def test_an_encoder_block_is_torchs(place: NormPlace) -> None:
    ours = EncoderBlock(replace(TINY, norm_place=place))
    theirs = nn.TransformerEncoderLayer(
        D, HEADS, FF, dropout=0.0, batch_first=True, norm_first=place == "pre"
    )
    stir(ours)
    copy_encoder_block(ours, theirs)
    x = states(S)
    expected = theirs(x, src_key_padding_mask=~SOURCE_MASK)
    assert_same(ours(x, SOURCE_MASK), expected, x, mask=SOURCE_MASK)


@places
def test_a_decoder_block_is_torchs(place: NormPlace) -> None:
    ours = DecoderBlock(replace(TINY, norm_place=place))
    theirs = nn.TransformerDecoderLayer(
        D, HEADS, FF, dropout=0.0, batch_first=True, norm_first=place == "pre"
    )
    stir(ours)
    copy_decoder_block(ours, theirs)
    x, memory = states(T), states(S, seed=2)
    expected = theirs(
        x,
        memory,
        tgt_mask=torch.ones(T, T).triu(1).bool(),
        memory_key_padding_mask=~SOURCE_MASK,
    )
    assert_same(
        ours(x, TARGET_MASK, Memory(memory, SOURCE_MASK)), expected, x, memory, mask=TARGET_MASK
    )


def stacks(place: NormPlace, model: Transformer) -> nn.Transformer:
    """The two stacks of torch with the weights of ours."""
    theirs = nn.Transformer(
        D, HEADS, 2, 2, FF, dropout=0.0, batch_first=True, norm_first=place == "pre"
    )
    for our_block, block in zip(model.encoder.layers, theirs.encoder.layers, strict=True):
        assert isinstance(our_block, EncoderBlock)
        assert isinstance(block, nn.TransformerEncoderLayer)
        copy_encoder_block(our_block, block)
    for our_block, block in zip(model.decoder.layers, theirs.decoder.layers, strict=True):
        assert isinstance(our_block, DecoderBlock)
        assert isinstance(block, nn.TransformerDecoderLayer)
        copy_decoder_block(our_block, block)
    for ours, stack in ((model.encoder, theirs.encoder), (model.decoder, theirs.decoder)):
        if ours.norm is None:
            stack.norm = None  # torch adds a last norm to post-norm stacks too
        else:
            assert stack.norm is not None
            copy_linear(ours.norm, stack.norm)
    return theirs


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # torch's own, about its fast path
@places
def test_a_whole_transformer_is_torchs(place: NormPlace) -> None:
    model = Transformer(replace(TINY, norm_place=place), 11, 11)
    stir(model)
    theirs = stacks(place, model)
    generator = torch.Generator().manual_seed(3)
    source = torch.randint(4, 11, (B, S), generator=generator)
    target = torch.randint(4, 11, (B, T), generator=generator)
    logits = model(source, SOURCE_MASK, target, TARGET_MASK)
    hidden = theirs(
        model.source(source),
        model.target(target),
        src_key_padding_mask=~SOURCE_MASK,
        memory_key_padding_mask=~SOURCE_MASK,
        tgt_mask=torch.ones(T, T).triu(1).bool(),
    )
    expected = hidden @ model.output.weight.T
    torch.testing.assert_close(logits[TARGET_MASK], expected[TARGET_MASK], rtol=1e-4, atol=1e-4)


def test_layer_norm_is_torchs() -> None:
    ours, theirs = LayerNorm(D), nn.LayerNorm(D)
    stir(ours)
    copy_linear(ours, theirs)
    x = states(T)
    assert_same(ours(x), theirs(x), x)


@pytest.mark.parametrize("is_training", [True, False])
def test_batch_norm_is_torchs(is_training: bool) -> None:
    ours, theirs = BatchNorm(D).train(is_training), nn.BatchNorm1d(D).train(is_training)
    stir(ours)
    theirs.load_state_dict(ours.state_dict(), strict=False)
    x = states(T)
    assert_same(ours(x), theirs(x.transpose(1, 2)).transpose(1, 2), x)
