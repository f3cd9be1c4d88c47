"""Recomputing a block changes the memory it takes, and nothing else."""

import pytest
import torch

from regard.models.transformer import Transformer, TransformerConfig
from regard.shapes import Tensor

CONFIG = TransformerConfig(
    d_model=16, heads=2, d_ff=24, encoder_layers=3, decoder_layers=3, dropout=0.3
)


def learned(*, recomputes: bool) -> tuple[dict[str, Tensor], int]:
    """The gradients of one batch, and the bytes that were kept for them."""
    torch.manual_seed(1)
    model = Transformer(CONFIG, 20, 20).train()
    model.recompute_blocks(recomputes)
    ids = torch.randint(4, 20, (3, 7))
    real = torch.ones_like(ids, dtype=torch.bool)
    kept: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        loss = model(ids, real, ids, real).square().mean()
    loss.backward()
    return {n: p.grad for n, p in model.named_parameters() if p.grad is not None}, sum(
        kept.values()
    )


def test_the_gradient_is_the_same_to_the_bit_with_dropout_on() -> None:
    usual, _ = learned(recomputes=False)
    again, _ = learned(recomputes=True)
    assert usual.keys() == again.keys()
    assert all(torch.equal(usual[name], again[name]) for name in usual)


def test_less_is_kept() -> None:
    assert learned(recomputes=True)[1] < learned(recomputes=False)[1] / 2


@torch.no_grad()
def test_nothing_is_kept_where_no_gradient_is_asked_for() -> None:
    model = Transformer(CONFIG, 20, 20).eval()
    ids = torch.randint(4, 20, (3, 7))
    real = torch.ones_like(ids, dtype=torch.bool)
    expected = model(ids, real, ids, real)
    model.recompute_blocks(True)
    assert torch.equal(model(ids, real, ids, real), expected)


@pytest.mark.parametrize("is_asked", [True, False])
def test_both_stacks_are_told(is_asked: bool) -> None:
    model = Transformer(CONFIG, 20, 20)
    model.recompute_blocks(is_asked)
    assert model.encoder.recomputes is model.decoder.recomputes is is_asked
