"""The three JSON files of a Marian folder that are not the vocabulary."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le
from pydantic import TypeAdapter, ValidationError

from regard.bounded import shown
from regard.convert.folder import read_json
from regard.convert.parcel import Parcel
from regard.decoding.config import MAX_BEAM, DecodingConfig
from regard.errors import ConfigError, ModelFileError
from regard.models.transformer import TransformerConfig
from regard.nn.feed_forward import Activation

CONFIG = "config.json"
GENERATION = "generation_config.json"
TOKENISER = "tokenizer_config.json"

# A longer table of positions than this is no translation model's.
MAX_POSITIONS = 65_536
# What generation may write at most; Marian's own models say the same.
MAX_LENGTH = 512

# No model is larger than this in any direction; it keeps sizes from overflowing.
Count = Annotated[int, Gt(0), Le(2**24)]
Id = Annotated[int, Ge(0)]
Theirs = Literal["relu", "gelu", "swish", "silu"]

ACTIVATIONS: dict[Theirs, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "swish": "swish",
    "silu": "swish",
}


@dataclass(frozen=True, kw_only=True)
class MarianConfig:
    """The part of Hugging Face's MarianConfig that its outputs depend on.

    The defaults are those of transformers, which leaves default values out of the file.
    """

    model_type: Literal["marian"]
    vocab_size: Count = 58101
    decoder_vocab_size: Count | None = None
    d_model: Count = 1024
    encoder_layers: Count = 12
    decoder_layers: Count = 12
    encoder_attention_heads: Count = 16
    decoder_attention_heads: Count = 16
    encoder_ffn_dim: Count = 4096
    decoder_ffn_dim: Count = 4096
    activation_function: Theirs = "gelu"
    max_position_embeddings: Annotated[int, Gt(0), Le(MAX_POSITIONS)] = 1024
    scale_embedding: bool = False
    share_encoder_decoder_embeddings: bool = True
    tie_word_embeddings: bool = True
    dropout: Annotated[float, Ge(0), Le(1)] = 0.1
    pad_token_id: Id = 58100
    eos_token_id: Id = 0
    decoder_start_token_id: Id = 58100

    def __post_init__(self) -> None:
        for key in ("attention_heads", "ffn_dim"):
            encoder, decoder = getattr(self, f"encoder_{key}"), getattr(self, f"decoder_{key}")
            if encoder != decoder:
                raise ConfigError(
                    f"encoder_{key} = {encoder:,} and decoder_{key} = {decoder:,} differ; "
                    "Regard has one number for both"
                )
        if self.share_encoder_decoder_embeddings and not self.tie_word_embeddings:
            raise ConfigError(
                "share_encoder_decoder_embeddings = true with tie_word_embeddings = false; "
                "Regard shares the matrices of target and output before those of the languages"
            )
        if self.share_encoder_decoder_embeddings and self.target_vocabulary != self.vocab_size:
            raise ConfigError(
                f"vocab_size = {self.vocab_size:,} and decoder_vocab_size = "
                f"{self.target_vocabulary:,} differ, but the embeddings are shared"
            )

    @property
    def target_vocabulary(self) -> int:
        return self.decoder_vocab_size or self.vocab_size

    def transformer(self) -> TransformerConfig:
        """The same Transformer in Regard's words.

        Embeddings that are not scaled cannot be shared with the output here, where they are.
        """
        share: Literal["all", "target", "none"] = "target"
        if not (self.scale_embedding and self.tie_word_embeddings):
            share = "none"
        elif self.share_encoder_decoder_embeddings:
            share = "all"
        return TransformerConfig(
            d_model=self.d_model,
            heads=self.encoder_attention_heads,
            d_ff=self.encoder_ffn_dim,
            encoder_layers=self.encoder_layers,
            decoder_layers=self.decoder_layers,
            dropout=min(self.dropout, 0.9),
            activation=ACTIVATIONS[self.activation_function],
            max_positions=self.max_position_embeddings,
            share_embeddings=share,
            output_bias=True,
        )


def read_config(folder: Path) -> MarianConfig:
    """Read `config.json`.

    Raises:
        ModelFileError: it is missing or damaged, or the model is not a Marian.
        ConfigError: it is a Marian that Regard has no words for.
    """
    path = folder / CONFIG
    content = read_json(path)
    try:
        return TypeAdapter(MarianConfig).validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ModelFileError(
            f"{path}: {where} = {shown(content.get(where))}: {first['msg']}; "
            "Regard reads the folders of Hugging Face's MarianMTModel"
        ) from None
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def config_json(parcel: Parcel) -> dict[str, Any]:
    """The `config.json` of a parcel.

    Raises:
        ConfigError: the model is none that Marian has.
    """
    model, source, target = parcel.model, parcel.tokenisers.source, parcel.tokenisers.target
    for is_wrong, what, have in (
        (model.norm_place != "post", f'model.norm_place = "{model.norm_place}"', '"post"'),
        (model.norm != "layer", f'model.norm = "{model.norm}"', '"layer"'),
        (model.position != "sinusoid", f'model.position = "{model.position}"', '"sinusoid"'),
    ):
        if is_wrong:
            raise ConfigError(
                f"{what}: Marian knows only {have}; train such a model, or try --to ctranslate2"
            )
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": len(source),
        "decoder_vocab_size": len(target),
        "d_model": model.d_model,
        "encoder_layers": model.encoder_layers,
        "decoder_layers": model.decoder_layers,
        "encoder_attention_heads": model.heads,
        "decoder_attention_heads": model.heads,
        "encoder_ffn_dim": model.d_ff,
        "decoder_ffn_dim": model.d_ff,
        "activation_function": model.activation,
        "dropout": model.dropout,
        "attention_dropout": model.dropout_attention,
        "activation_dropout": model.dropout_ff,
        "max_position_embeddings": model.max_positions,
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": model.share_embeddings == "all",
        "tie_word_embeddings": model.share_embeddings != "none",
        "pad_token_id": target.pad,
        "eos_token_id": target.eos,
        "forced_eos_token_id": target.eos,
        "bos_token_id": target.bos,
        "decoder_start_token_id": target.bos,
        "dtype": "float32",
    }


def generation_json(parcel: Parcel) -> dict[str, Any]:
    """The `generation_config.json` of a parcel: how it searches here, as far as it can there."""
    decoding, target = parcel.decoding, parcel.tokenisers.target
    return {
        "num_beams": decoding.beam,
        "length_penalty": decoding.alpha if decoding.penalty == "length" else 1.0,
        "early_stopping": True if decoding.early_exit else "never",
        "max_length": min(MAX_LENGTH, parcel.model.max_positions),
        "bad_words_ids": [[id] for id in sorted({target.pad, target.bos})],
        "pad_token_id": target.pad,
        "eos_token_id": target.eos,
        "forced_eos_token_id": target.eos,
        "bos_token_id": target.bos,
        "decoder_start_token_id": target.bos,
    }


@dataclass(frozen=True, kw_only=True)
class _Generation:
    num_beams: Annotated[int, Gt(0), Le(MAX_BEAM)] = 1
    length_penalty: Annotated[float, Ge(0), Le(10)] = 1.0
    early_stopping: bool | Literal["never"] = False


def read_decoding(folder: Path) -> DecodingConfig:
    """How a Marian folder searches; as Regard does where it does not say."""
    path = folder / GENERATION
    if not path.exists():
        return DecodingConfig()
    try:
        found = TypeAdapter(_Generation).validate_python(read_json(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ModelFileError(f"{path}: {where} = {shown(first['input'])}: {first['msg']}") from None
    return DecodingConfig(
        beam=found.num_beams, alpha=found.length_penalty, early_exit=found.early_stopping is True
    )
