"""Hugging Face's MarianMTModel folders, in and out; transformers itself is not needed.

Marian is the post-norm Transformer of the paper with sinusoids in halves (`channels.py`), a
bias on the output and a start token that is <pad>. Regard's start token and ids are written
into `config.json` and `vocab.json`, where transformers reads them.
"""

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from regard.bounded import shown
from regard.convert import marian_names as names
from regard.convert.channels import to_halves, to_interleaved
from regard.convert.folder import appearing, write_json
from regard.convert.marian_config import (
    CONFIG,
    GENERATION,
    TOKENISER,
    MarianConfig,
    config_json,
    generation_json,
    read_config,
    read_decoding,
)
from regard.convert.marian_text import read_settings, read_tokenisers, write_tokenisers
from regard.convert.parcel import Parcel
from regard.errors import ModelFileError
from regard.models.transformer import Transformer
from regard.nn.position import sinusoids
from regard.safetensors_header import read_header
from regard.shapes import Tensor

WEIGHTS = "model.safetensors"
PICKLE = "pytorch_model.bin"

Shape = tuple[int, ...]


def is_marian(folder: Path) -> bool:
    """Whether this looks like a Marian folder, whole or not."""
    return (folder / CONFIG).is_file()


def write_marian(parcel: Parcel, folder: Path) -> None:
    """Write a folder that MarianMTModel and MarianTokenizer load.

    Raises:
        ConfigError: the model is none that Marian has.
        ModelFileError: the folder exists, or cannot be written.
    """
    config = config_json(parcel)
    with appearing(folder) as temporary:
        write_tokenisers(parcel, temporary)
        write_json(temporary / CONFIG, config)
        write_json(temporary / GENERATION, generation_json(parcel))
        tensors = marian_tensors(parcel)
        save_file(tensors, temporary / WEIGHTS, metadata={"format": "pt"})


def read_marian(folder: Path) -> Parcel:
    """Read a folder as MarianMTModel saves it.

    Raises:
        ModelFileError: it is incomplete or damaged, or its files contradict one another.
        ConfigError: it is a Marian that Regard has no words for.
    """
    config = read_config(folder)
    settings = read_settings(folder)
    return Parcel(
        model=config.transformer(),
        tensors=_read_weights(folder, config),
        tokenisers=read_tokenisers(folder, config),
        decoding=read_decoding(folder),
        source_language=_language(folder, settings, "source_lang"),
        target_language=_language(folder, settings, "target_lang"),
    )


def _language(folder: Path, settings: dict[str, Any], key: str) -> str:
    """A language, which may be missing."""
    found = settings.get(key) or ""
    if not isinstance(found, str):
        raise ModelFileError(f"{folder / TOKENISER}: {key} = {shown(found)}: expected a string")
    return found


def marian_tensors(parcel: Parcel) -> dict[str, Tensor]:
    """A parcel's parameters in Marian's order of channels and under Marian's names."""
    model = parcel.model
    ours = to_halves(parcel.tensors, model.d_model)
    theirs = names.layer_names(model.encoder_layers, model.decoder_layers)
    theirs |= names.embedding_names(model.share_embeddings)
    bias = ours.pop("output.bias", torch.zeros(len(parcel.tokenisers.target)))
    tensors = {theirs[name]: tensor for name, tensor in ours.items()}
    return tensors | {names.BIAS: bias.unsqueeze(0)}


def _read_weights(folder: Path, config: MarianConfig) -> dict[str, Tensor]:
    path = folder / WEIGHTS
    if not path.exists() and (folder / PICKLE).exists():
        raise ModelFileError(
            f"{folder / PICKLE} is a pickle, which may run any program; write {WEIGHTS} with "
            "transformers: MarianMTModel.from_pretrained(DIR).save_pretrained(DIR)"
        )
    shapes = {name: entry.shape for name, entry in read_header(path).items()}
    places = _places(path, config, shapes)
    try:
        with safe_open(path, framework="pt") as file:
            found = {name: file.get_tensor(theirs).float() for name, theirs in places.items()}
            for name in shapes.keys() & set(names.POSITIONS):
                _check_positions(path, name, file.get_tensor(name).float(), config.d_model)
    except (OSError, SafetensorError) as error:
        raise ModelFileError(f"{path}: not a readable safetensors file ({error})") from None
    bias = found.get("output.bias", torch.zeros(config.target_vocabulary))
    found["output.bias"] = bias.flatten()
    if not config.scale_embedding:
        for name in ("source.embedding.weight", "target.embedding.weight"):
            found[name] = found[name] / config.d_model**0.5
    return to_interleaved(found, config.d_model)


def _places(path: Path, config: MarianConfig, shapes: dict[str, Shape]) -> dict[str, str]:
    """Where in the file each parameter is; names and shapes are checked before any is read."""
    num_layers = config.encoder_layers + config.decoder_layers
    if num_layers > len(shapes):
        raise ModelFileError(
            f"{path}: {len(shapes):,} tensors, too few for the {num_layers:,} layers of {CONFIG}"
        )
    layers = names.layer_names(config.encoder_layers, config.decoder_layers)
    known = {*layers.values(), *names.EMBEDDINGS, names.BIAS, *names.POSITIONS}
    for name in sorted(shapes.keys() - known):
        raise ModelFileError(f"{path}: tensor {shown(name)} is not part of what {CONFIG} describes")
    places = {}
    for name, expected in _shapes(config).items():
        candidates = (
            (layers[name],)
            if name in layers
            else names.candidates(
                name,
                is_shared=config.share_encoder_decoder_embeddings,
                is_tied=config.tie_word_embeddings,
            )
        )
        place = next((theirs for theirs in candidates if theirs in shapes), None)
        if place is None:
            if name == "output.bias":  # older files may lack it; it is zero then
                continue
            raise ModelFileError(f"{path}: tensor {candidates[0]!r} is missing")
        if shapes[place] != expected:
            raise ModelFileError(
                f"{path}: tensor {place!r} has shape {list(shapes[place])}, "
                f"{CONFIG} describes {list(expected)}"
            )
        places[name] = place
    return places


def _shapes(config: MarianConfig) -> dict[str, Shape]:
    """The shape of every parameter, from a model without numbers: nothing is allocated."""
    with torch.device("meta"):
        model = Transformer(config.transformer(), config.vocab_size, config.target_vocabulary)
    shapes: dict[str, Shape] = {n: tuple(p.shape) for n, p in model.named_parameters()}
    return shapes | {"output.bias": (1, config.target_vocabulary)}


def _check_positions(path: Path, name: str, table: Tensor, d_model: int) -> None:
    """Older files hold the table of sinusoids too."""
    is_table = table.ndim == 2 and table.shape[1] == d_model
    if is_table:
        expected = sinusoids(len(table), d_model)
        halves = torch.cat([expected[:, 0::2], expected[:, 1::2]], dim=1)
        is_table = torch.allclose(table, halves, atol=1e-3)  # it may be in half precision
    if not is_table:
        raise ModelFileError(
            f"{path}: {name!r} is not the sinusoids of Marian; Regard has no other"
        )
