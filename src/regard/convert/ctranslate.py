"""CTranslate2 models, out only: the same weights in CTranslate2's own specification.

It differs from Regard in the order of its memory, not in its mathematics: queries, keys and
values are one matrix, those of the memory two. Positions are a table of `max_positions` rows,
so pre-norm models and learned positions move too.
"""

from pathlib import Path
from typing import Any

import torch

from regard.convert.folder import appearing
from regard.convert.marian_text import SOURCE, TARGET
from regard.convert.parcel import Parcel
from regard.errors import ConfigError
from regard.nn.feed_forward import Activation
from regard.nn.norm import LayerNorm
from regard.nn.position import POSITIONS
from regard.shapes import Float, Tensor
from regard.text.marian import MarianPieces
from regard.text.sentencepieces import SentencePieces
from regard.text.tokeniser import Tokeniser

# Names of ctranslate2.specs.Activation.
_ACTIVATIONS: dict[Activation, str] = {"relu": "RELU", "gelu": "GELU", "swish": "SWISH"}


def write_ctranslate2(parcel: Parcel, folder: Path) -> None:
    """Write a folder that ctranslate2.Translator opens, in single precision.

    It takes and gives pieces; `source.spm` and `target.spm` beside it cut the text.

    Raises:
        ConfigError: CTranslate2 is not installed, or the model is none that it has.
        ModelFileError: the folder exists, or cannot be written.
    """
    spec = _spec(parcel)
    with appearing(folder) as temporary:
        spec.save(str(temporary))
        for name, tokeniser in (
            (SOURCE, parcel.tokenisers.source),
            (TARGET, parcel.tokenisers.target),
        ):
            if isinstance(tokeniser, MarianPieces):
                (temporary / name).write_bytes(tokeniser.model)
            elif isinstance(tokeniser, SentencePieces):
                (temporary / name).write_bytes(tokeniser.to_bytes())


def _spec(parcel: Parcel) -> Any:
    try:
        from ctranslate2.specs import Activation as Activations
        from ctranslate2.specs import TransformerSpec
    except ImportError:
        raise ConfigError(
            'CTranslate2 is not installed; pip install "regard[convert]" brings it'
        ) from None
    model = parcel.model
    if model.norm != "layer":
        raise ConfigError(f'model.norm = "{model.norm}": CTranslate2 knows only "layer"')
    if model.position == "fraction":
        raise ConfigError(
            'model.position = "fraction" depends on the length of a sentence; CTranslate2 knows '
            "only tables"
        )
    spec = TransformerSpec.from_config(
        (model.encoder_layers, model.decoder_layers),
        model.heads,
        pre_norm=model.norm_place == "pre",
        activation=Activations[_ACTIVATIONS[model.activation]],
    )
    _fill_weights(spec, parcel)
    source, target = parcel.tokenisers.source, parcel.tokenisers.target
    spec.register_source_vocabulary(_pieces(source))
    spec.register_target_vocabulary(_pieces(target))
    spec.config.unk_token = target.piece(target.unk)
    spec.config.bos_token = target.piece(target.bos)
    spec.config.eos_token = target.piece(target.eos)
    spec.config.decoder_start_token = target.piece(target.bos)
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = LayerNorm(1).eps
    spec.validate()
    spec.optimize(quantization="float32")
    return spec


def _fill_weights(spec: Any, parcel: Parcel) -> None:
    model, tensors = parcel.model, parcel.tensors
    source = tensors["source.embedding.weight"]
    target = tensors.get("target.embedding.weight", source)
    spec.encoder.embeddings[0].weight = source
    spec.decoder.embeddings.weight = target
    spec.decoder.projection.weight = tensors.get("output.weight", target)
    if "output.bias" in tensors:
        spec.decoder.projection.bias = tensors["output.bias"]
    for half, side in ((spec.encoder, "source"), (spec.decoder, "target")):
        half.scale_embeddings = True
        half.position_encodings.encodings = _positions(parcel, side)
    for half, name in ((spec.encoder, "encoder"), (spec.decoder, "decoder")):
        if model.norm_place == "pre":
            _fill_norm(half.layer_norm, tensors, f"{name}.norm")
        for i, layer in enumerate(half.layer):
            block = f"{name}.layers.{i}"
            attentions = [("self_attention", layer.self_attention)]
            if name == "decoder":
                attentions.append(("cross_attention", layer.attention))
            for place, (kind, attention) in enumerate(attentions):
                _fill_attention(attention, tensors, f"{block}.{kind}")
                _fill_norm(attention.layer_norm, tensors, f"{block}.residuals.{place}.norm")
            _fill_linear(layer.ffn.linear_0, tensors, [f"{block}.feed_forward.inner"])
            _fill_linear(layer.ffn.linear_1, tensors, [f"{block}.feed_forward.outer"])
            _fill_norm(layer.ffn.layer_norm, tensors, f"{block}.residuals.{len(attentions)}.norm")


def _fill_attention(spec: Any, tensors: dict[str, Tensor], name: str) -> None:
    """Query, key and value in one matrix; for a memory, the query apart from the others."""
    query, key, value, output = (f"{name}.{part}" for part in ("query", "key", "value", "output"))
    fused = [[query, key, value]] if len(spec.linear) == 2 else [[query], [key, value]]
    for linear, parts in zip(spec.linear, [*fused, [output]], strict=True):
        _fill_linear(linear, tensors, parts)


def _fill_linear(spec: Any, tensors: dict[str, Tensor], parts: list[str]) -> None:
    spec.weight = torch.cat([tensors[f"{part}.weight"] for part in parts])
    spec.bias = torch.cat([tensors[f"{part}.bias"] for part in parts])


def _fill_norm(spec: Any, tensors: dict[str, Tensor], name: str) -> None:
    spec.gamma = tensors[f"{name}.weight"]
    spec.beta = tensors[f"{name}.bias"]


def _positions(parcel: Parcel, side: str) -> Float[Tensor, "T D"]:
    """What is added at each position, up to the longest."""
    model = parcel.model
    learned = parcel.tensors.get(f"{side}.position.weight")
    if learned is not None:
        return learned
    position = POSITIONS[model.position](model.d_model, model.max_positions)
    table: Tensor = position(torch.zeros(1, model.max_positions, dtype=torch.long))[0]
    return table.expand(model.max_positions, -1).contiguous()


def _pieces(tokeniser: Tokeniser) -> list[str]:
    pieces = [tokeniser.piece(id) for id in range(len(tokeniser))]
    if len(set(pieces)) != len(pieces):
        twice = next(piece for id, piece in enumerate(pieces) if piece in pieces[:id])
        raise ConfigError(
            f"two pieces of the vocabulary read {twice!r}; CTranslate2 tells pieces apart by name"
        )
    return pieces
