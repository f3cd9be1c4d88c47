"""The two halves of a Transformer as models of their own: decoder-only and encoder-only."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from regard.models.decoder_only import DecoderOnly
from regard.models.encoder_only import EncoderOnly
from regard.nn.position import POSITIONS, PositionKind
from regard.nn.residual import NormPlace
from tests.models.architectures import TINY, VOCABULARY, another_token, sentences

assert_close = partial(torch.testing.assert_close, rtol=1e-4, atol=1e-4)

TEXT = sentences([6, 3, 5], seed=1)


@pytest.fixture(params=["post", "pre"])
def place(request: pytest.FixtureRequest) -> NormPlace:
    chosen: NormPlace = request.param
    return chosen


@pytest.fixture(params=POSITIONS)
def position(request: pytest.FixtureRequest) -> PositionKind:
    chosen: PositionKind = request.param
    return chosen


@pytest.fixture
def decoder(place: NormPlace, position: PositionKind) -> DecoderOnly:
    torch.manual_seed(0)
    config = replace(TINY, norm_place=place, position=position)
    return DecoderOnly(config, VOCABULARY).eval()


@pytest.fixture
def encoder(place: NormPlace, position: PositionKind) -> EncoderOnly:
    torch.manual_seed(0)
    config = replace(TINY, norm_place=place, position=position)
    return EncoderOnly(config, VOCABULARY).eval()


@torch.no_grad()
def test_a_decoder_alone_does_not_look_ahead(decoder: DecoderOnly) -> None:
    before = decoder(TEXT.tokens)
    after = decoder(another_token(TEXT, 3).tokens)
    assert torch.equal(after[:, :3], before[:, :3])
    assert (after[:, 3:] != before[:, 3:]).any(-1).all()


@torch.no_grad()
def test_a_decoder_alone_steps_as_it_reads(decoder: DecoderOnly) -> None:
    state = decoder.start(max_length=6)
    stepped = torch.stack([decoder.step(state, column) for column in TEXT.tokens.T], dim=1)
    assert_close(stepped, decoder(TEXT.tokens))


@torch.no_grad()
def test_padding_changes_nothing_in_a_decoder_alone(decoder: DecoderOnly) -> None:
    together = decoder(TEXT.tokens, TEXT.mask)
    for number in range(len(TEXT)):
        alone = decoder(TEXT.alone(number).tokens)
        assert_close(together[number, : alone.shape[1]], alone[0])


def test_a_decoder_alone_has_no_cross_attention(decoder: DecoderOnly) -> None:
    assert not [name for name, _ in decoder.named_parameters() if "cross" in name]


@torch.no_grad()
def test_padding_changes_nothing_in_an_encoder_alone(encoder: EncoderOnly) -> None:
    together = encoder(TEXT.tokens, TEXT.mask)
    for number in range(len(TEXT)):
        one = TEXT.alone(number)
        alone = encoder(one.tokens, one.mask)
        assert_close(together[number, : alone.shape[1]], alone[0])


@torch.no_grad()
def test_every_state_of_an_encoder_sees_the_whole_sentence(encoder: EncoderOnly) -> None:
    one = TEXT.alone(0)
    before = encoder(one.tokens, one.mask)
    assert (encoder(another_token(one, -1).tokens, one.mask) != before).any(-1).all()


@torch.no_grad()
def test_without_positions_an_encoder_reads_a_bag_of_words(place: NormPlace) -> None:
    encoder = EncoderOnly(replace(TINY, norm_place=place, position="none"), VOCABULARY).eval()
    one = TEXT.alone(0)
    order = torch.randperm(6, generator=torch.Generator().manual_seed(0))
    assert_close(encoder(one.tokens[:, order], one.mask), encoder(one.tokens, one.mask)[:, order])
