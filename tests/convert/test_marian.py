"""Marian folders: what transformers makes of ours, what we make of theirs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from regard.convert.marian import read_marian, write_marian
from regard.convert.parcel import Parcel
from regard.decoding.config import DecodingConfig
from regard.shapes import Tensor
from regard.text.pair import TokeniserPair

from .opus import OPUS, write_opus
from .parcels import (
    best_of,
    logits_of,
    random_copies,
    random_ids,
    random_parcel,
)

TOLERANCE = 1e-4

SHAPES: dict[str, dict[str, Any]] = {
    "all shared": {},
    "target shared": {"share_embeddings": "target"},
    "nothing shared": {"share_embeddings": "none"},
    "biased": {"output_bias": True},
    "gelu": {"activation": "gelu"},
    "swish": {"activation": "swish"},
    "odd": {"d_model": 15},
    "shallow decoder": {"encoder_layers": 4, "decoder_layers": 1},
}


def ids_for(parcel: Parcel) -> tuple[Tensor, Tensor]:
    """Two sources and two targets, the targets with their start token."""
    source, target = parcel.tokenisers.source, parcel.tokenisers.target
    sources = random_ids((2, 11), len(source), {source.pad}, seed=1)
    targets = random_ids((2, 9), len(target), {target.pad}, seed=2)
    targets[:, 0] = target.bos
    return sources, targets


@torch.inference_mode()
def their_logits(model: Any, source: Tensor, target: Tensor) -> Tensor:
    logits: Tensor = model.eval()(input_ids=source, decoder_input_ids=target).logits
    return logits


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_an_exported_model_has_the_same_logits_in_transformers(
    transformers: Any, joint: TokeniserPair, tmp_path: Path, shape: dict[str, Any]
) -> None:
    parcel = random_parcel(joint, **shape)
    write_marian(parcel, tmp_path / "marian")
    model = transformers.MarianMTModel.from_pretrained(tmp_path / "marian")
    ids = ids_for(parcel)
    expected = logits_of(parcel, *ids)
    torch.testing.assert_close(their_logits(model, *ids), expected, atol=TOLERANCE, rtol=0)


def test_two_vocabularies_move_too(transformers: Any, apart: TokeniserPair, tmp_path: Path) -> None:
    parcel = random_parcel(apart, share_embeddings="target")
    write_marian(parcel, tmp_path / "marian")
    model = transformers.MarianMTModel.from_pretrained(tmp_path / "marian")
    ids = ids_for(parcel)
    expected = logits_of(parcel, *ids)
    torch.testing.assert_close(their_logits(model, *ids), expected, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"scale_embedding": False},
        {"share_encoder_decoder_embeddings": False},
        {"share_encoder_decoder_embeddings": False, "scale_embedding": False},
        {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False},
        {"activation_function": "gelu", "encoder_layers": 1},
        {"d_model": 15, "encoder_attention_heads": 3, "decoder_attention_heads": 3},
    ],
    ids=str,
)
def test_an_imported_model_has_the_logits_of_transformers(
    transformers: Any, tmp_path: Path, changes: dict[str, Any]
) -> None:
    folder = write_opus(tmp_path / "opus")
    torch.manual_seed(0)
    model = transformers.MarianMTModel(transformers.MarianConfig(**{**OPUS, **changes}))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.copy_(0.3 * torch.randn_like(parameter))
    model.final_logits_bias.normal_()
    model.save_pretrained(folder)
    parcel = read_marian(folder)
    ids = ids_for(parcel)
    expected = their_logits(model, *ids)
    torch.testing.assert_close(logits_of(parcel, *ids), expected, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_model_comes_back_bit_for_bit(
    joint: TokeniserPair, tmp_path: Path, shape: dict[str, Any]
) -> None:
    parcel = random_parcel(joint, **shape)
    write_marian(parcel, tmp_path / "marian")
    back = read_marian(tmp_path / "marian")
    assert back.model == replace(parcel.model, output_bias=True)
    assert all(torch.equal(back.tensors[name], tensor) for name, tensor in parcel.tensors.items())


def test_transformers_searches_as_regard_does(
    transformers: Any, post_norm: Parcel, tmp_path: Path
) -> None:
    parcel = post_norm
    sources = [row for n in range(1, 6) for row in random_copies(6, n, seed=-n).tolist()]
    ours = best_of(parcel, sources)
    write_marian(parcel, tmp_path / "marian")
    model = transformers.MarianMTModel.from_pretrained(tmp_path / "marian").eval()
    for source, hypothesis in zip(sources, ours, strict=True):
        found = model.generate(
            input_ids=torch.tensor([[*source, parcel.tokenisers.source.eos]]),
            return_dict_in_generate=True,
            output_scores=True,
        )
        assert found.sequences[0, 1:-1].tolist() == list(hypothesis.tokens)
        assert found.sequences_scores.item() == pytest.approx(hypothesis.score, abs=TOLERANCE)


@pytest.mark.parametrize(
    "decoding",
    [DecodingConfig(), DecodingConfig(beam=7, alpha=0.6, early_exit=True)],
    ids=["default", "other"],
)
def test_how_to_search_comes_back(
    joint: TokeniserPair, tmp_path: Path, decoding: DecodingConfig
) -> None:
    parcel = replace(random_parcel(joint), decoding=decoding)
    write_marian(parcel, tmp_path / "marian")
    assert read_marian(tmp_path / "marian").decoding == decoding


def test_the_languages_come_back(joint: TokeniserPair, tmp_path: Path) -> None:
    write_marian(random_parcel(joint), tmp_path / "marian")
    back = read_marian(tmp_path / "marian")
    assert (back.source_language, back.target_language) == ("fr", "en")


def test_half_precision_is_read(joint: TokeniserPair, tmp_path: Path) -> None:
    parcel = random_parcel(joint)
    write_marian(parcel, tmp_path / "marian")
    path = tmp_path / "marian" / "model.safetensors"
    save_file({name: tensor.half() for name, tensor in load_file(path).items()}, path)
    tensors = read_marian(tmp_path / "marian").tensors
    assert all(
        torch.equal(tensors[name], tensor.half().float()) for name, tensor in parcel.tensors.items()
    )
