"""Folders and models that cannot be converted, and the line that says so."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from regard.convert.marian import read_marian, write_marian
from regard.errors import ConfigError, ModelFileError, RegardError
from regard.text.pair import TokeniserPair

from .parcels import learned_tokenisers, random_parcel


def config(**changes: Any) -> Callable[[Path], None]:
    """Change `config.json`."""

    def change(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **changes}), "utf-8")

    return change


def tensors(change: Callable[[dict[str, torch.Tensor]], Any]) -> Callable[[Path], None]:
    """Change `model.safetensors`."""

    def rewrite(folder: Path) -> None:
        held = load_file(folder / "model.safetensors")
        change(held)
        save_file(held, folder / "model.safetensors")

    return rewrite


def vocabulary(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    """Change `vocab.json`."""

    def rewrite(folder: Path) -> None:
        path = folder / "vocab.json"
        ids = json.loads(path.read_text("utf-8"))
        change(ids)
        path.write_text(json.dumps(ids), "utf-8")

    return rewrite


def overwrite(name: str, content: bytes) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return write


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def pickle_only(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


NORM = "model.encoder.layers.0.final_layer_norm.bias"
POSITIONS = "model.encoder.embed_positions.weight"

REFUSALS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a pickle": (pickle_only, "pytorch_model.bin is a pickle, which may run any program; write"),
    "no weights": (remove("model.safetensors"), "model.safetensors: not found"),
    "no safetensors": (
        overwrite("model.safetensors", b"x" * 100),
        "model.safetensors: not a readable safetensors file",
    ),
    "a tensor missing": (tensors(lambda t: t.pop(NORM)), f"tensor {NORM!r} is missing"),
    "a tensor too many": (
        tensors(lambda t: t.update(extra=torch.zeros(1))),
        "tensor 'extra' is not part of what config.json describes",
    ),
    "a shape": (
        tensors(lambda t: t.update({NORM: torch.zeros(7)})),
        f"tensor {NORM!r} has shape [7], config.json describes [24]",
    ),
    "other positions": (
        tensors(lambda t: t.update({POSITIONS: torch.ones(128, 24)})),
        f"{POSITIONS!r} is not the sinusoids of Marian",
    ),
    "positions of another width": (
        tensors(lambda t: t.update({POSITIONS: torch.ones(128, 3)})),
        f"{POSITIONS!r} is not the sinusoids of Marian",
    ),
    "no JSON": (overwrite("config.json", b"{"), "config.json: not readable JSON"),
    "a list": (overwrite("config.json", b"[]"), "config.json: expected a JSON object, found list"),
    "another model": (config(model_type="bart"), "model_type = 'bart'"),
    "another activation": (
        config(activation_function="tanh"),
        "activation_function = 'tanh': Input should be 'relu', 'gelu', 'swish' or 'silu'",
    ),
    "a billion layers": (
        config(encoder_layers=10**6),
        "tensors, too few for the 1,000,002 layers of config.json",
    ),
    "a giant table": (config(max_position_embeddings=10**12), "max_position_embeddings"),
    "a giant width": (config(d_model=3 * 10**12), "d_model = 3000000000000: Input should be less"),
    "other heads": (
        config(decoder_attention_heads=1),
        "encoder_attention_heads = 3 and decoder_attention_heads = 1 differ; Regard has one",
    ),
    "heads that do not divide": (
        config(encoder_attention_heads=5, decoder_attention_heads=5),
        "does not divide",
    ),
    "untied": (
        config(tie_word_embeddings=False),
        "share_encoder_decoder_embeddings = true with tie_word_embeddings = false",
    ),
    "two sizes": (config(decoder_vocab_size=5), "decoder_vocab_size = 5 differ"),
    "no vocabulary": (remove("vocab.json"), "vocab.json: not found"),
    "a piece too few": (vocabulary(lambda ids: ids.popitem()), "309 pieces, config.json says 310"),
    "an id twice": (
        vocabulary(lambda ids: ids.update({"</s>": 0})),
        "'</s>' has id 0; expected each of 0 to 309 once",
    ),
    "an id that is none": (vocabulary(lambda ids: ids.update({"</s>": "3"})), "has id '3'"),
    "no unknown": (
        vocabulary(lambda ids: (ids.pop("<unk>"), ids.update({"?!": 1}))),
        "vocab.json: no piece '<unk>' for unknown words",
    ),
    "an end beyond": (config(eos_token_id=400), "the special id 400 is beyond the 310 pieces"),
    "no SentencePiece": (overwrite("source.spm", b"x"), "source.spm: not a SentencePiece model"),
    "no target": (remove("target.spm"), "target.spm: not found"),
    "no beam": (
        overwrite("generation_config.json", b'{"num_beams": 0}'),
        "generation_config.json: num_beams = 0",
    ),
}


@pytest.mark.parametrize(("damage", "message"), REFUSALS.values(), ids=REFUSALS)
def test_a_folder_that_cannot_be_read_is_refused_in_one_line(
    joint: TokeniserPair, tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    write_marian(random_parcel(joint, decoder_layers=2), tmp_path / "marian")
    damage(tmp_path / "marian")
    with pytest.raises(RegardError) as error:
        read_marian(tmp_path / "marian")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"norm_place": "pre"}, 'model.norm_place = "pre": Marian knows only "post"'),
        ({"norm": "batch"}, 'model.norm = "batch": Marian knows only "layer"'),
        ({"position": "learned"}, 'model.position = "learned": Marian knows only "sinusoid"'),
    ],
)
def test_what_marian_has_not_is_refused(
    joint: TokeniserPair, tmp_path: Path, shape: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        write_marian(random_parcel(joint, **shape), tmp_path / "marian")
    assert str(error.value) == f"{message}; train such a model, or try --to ctranslate2"


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"d_key": 3}, "model.d_key = 3: neither Marian nor CTranslate2 knows that; train with 0"),
        ({"residual": False}, "model.residual = false: neither Marian nor CTranslate2 knows that"),
        ({"experts": 4}, "model.experts = 4: neither Marian nor CTranslate2 knows that"),
    ],
)
def test_what_no_format_has_is_refused(
    joint: TokeniserPair, shape: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        random_parcel(joint, **shape)
    assert str(error.value).startswith(message)


def test_words_are_no_sentencepieces(tmp_path: Path) -> None:
    parcel = random_parcel(learned_tokenisers(kind="words"))
    with pytest.raises(ConfigError, match=r'text\.kind = "words": Marian cuts text with Sentence'):
        write_marian(parcel, tmp_path / "marian")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_exists_is_left_alone(joint: TokeniserPair, tmp_path: Path) -> None:
    (tmp_path / "marian").mkdir()
    with pytest.raises(ModelFileError, match="exists already"):
        write_marian(random_parcel(joint), tmp_path / "marian")
    assert list((tmp_path / "marian").iterdir()) == []
