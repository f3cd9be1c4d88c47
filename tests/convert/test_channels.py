"""Two orders of the same channels."""

from dataclasses import replace

import pytest
import torch

from regard.convert.channels import to_halves, to_interleaved
from regard.nn.position import sinusoids
from regard.text.pair import TokeniserPair

from .parcels import logits_of, random_ids, random_parcel


@pytest.mark.parametrize("d_model", [1, 2, 7, 24])
def test_halves_hold_the_sines_and_then_the_cosines(d_model: int) -> None:
    table = sinusoids(5, d_model)
    halves = to_halves({"source.embedding.weight": table}, d_model)["source.embedding.weight"]
    torch.testing.assert_close(halves, torch.cat([table[:, 0::2], table[:, 1::2]], 1))


@pytest.mark.parametrize("norm_place", ["pre", "post"])
@pytest.mark.parametrize("d_model", [15, 24])
def test_interleaved_is_the_inverse_of_halves(
    joint: TokeniserPair, d_model: int, norm_place: str
) -> None:
    parcel = random_parcel(joint, d_model=d_model, norm_place=norm_place, share_embeddings="none")
    there = to_halves(parcel.tensors, d_model)
    back = to_interleaved(there, d_model)
    assert all(torch.equal(back[name], tensor) for name, tensor in parcel.tensors.items())


@pytest.mark.parametrize("norm_place", ["pre", "post"])
def test_the_order_of_the_channels_does_not_change_a_model_without_positions(
    joint: TokeniserPair, norm_place: str
) -> None:
    parcel = random_parcel(joint, norm_place=norm_place, position="none", output_bias=True)
    permuted = replace(parcel, tensors=to_halves(parcel.tensors, parcel.model.d_model))
    assert not torch.equal(
        permuted.tensors["source.embedding.weight"], parcel.tensors["source.embedding.weight"]
    )
    source = random_ids((3, 9), len(joint.source), set(), seed=1)
    target = random_ids((3, 8), len(joint.target), set(), seed=2)
    torch.testing.assert_close(
        logits_of(permuted, source, target), logits_of(parcel, source, target), atol=1e-5, rtol=0
    )
