"""Watching a model changes nothing about it."""

import pytest
import torch

from regard.lens.capture import capture
from regard.models.transformer import Transformer, TransformerConfig
from regard.shapes import Tensor

SITES = {
    "encoder": 2,
    "decoder": 2 * 2,  # self and cross
}


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(0)
    config = TransformerConfig(d_model=24, heads=3, d_ff=32, encoder_layers=2, decoder_layers=2)
    return Transformer(config, 30, 30).eval()


def run(model: Transformer) -> Tensor:
    source, target = torch.arange(4, 16).view(2, 6), torch.arange(4, 14).view(2, 5)
    source_mask = torch.ones(2, 6, dtype=torch.bool)
    source_mask[1, 4:] = False
    with torch.no_grad():
        return model.forward(source, source_mask, target, torch.ones(2, 5, dtype=torch.bool))


def test_watched_equals_unwatched(model: Transformer) -> None:
    unwatched = run(model)
    with capture(model):
        watched = run(model)
    torch.testing.assert_close(watched, unwatched, rtol=1e-4, atol=1e-5)


def test_every_attention_is_seen_once_a_call(model: Transformer) -> None:
    with capture(model) as seen:
        run(model)
    assert {half: sum(s.startswith(half) for s in seen.calls) for half in SITES} == SITES
    assert {len(calls) for calls in seen.calls.values()} == {1}


def test_weights_are_distributions_that_avoid_padding(model: Transformer) -> None:
    with capture(model) as seen:
        run(model)
    for site, (weights,) in seen.calls.items():
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
        if weights.shape[-1] == 6:
            assert weights[1, :, :, 4:].abs().max() == 0, site


def test_nothing_is_left_behind(model: Transformer) -> None:
    unwatched = run(model)
    with capture(model) as seen:
        run(model)
    before = {site: len(calls) for site, calls in seen.calls.items()}
    assert torch.equal(run(model), unwatched)  # the fused kernel again
    assert {site: len(calls) for site, calls in seen.calls.items()} == before


def test_nothing_is_left_behind_after_an_exception(model: Transformer) -> None:
    with pytest.raises(ZeroDivisionError), capture(model) as seen:
        raise ZeroDivisionError
    run(model)
    assert seen.calls == {}
