"""A translation model apart from any format of files."""

from dataclasses import dataclass, field

from regard.decoding.config import DecodingConfig
from regard.errors import ConfigError
from regard.models.transformer import TransformerConfig
from regard.shapes import Tensor
from regard.text.pair import TokeniserPair


@dataclass(frozen=True, kw_only=True)
class Parcel:
    """What has to move for a model to translate elsewhere as it does here.

    Attributes:
        model: the shape of the Transformer.
        tensors: its parameters under Regard's names, shared ones once.
        tokenisers: of both languages.
        decoding: how to search unless told otherwise.
        source_language: may be empty.
        target_language: likewise.

    Raises:
        ConfigError: no format here has a place for such a model.
    """

    model: TransformerConfig
    tensors: dict[str, Tensor]
    tokenisers: TokeniserPair
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    source_language: str = ""
    target_language: str = ""

    def __post_init__(self) -> None:
        for name in ("d_key", "residual", "experts"):
            value, usual = getattr(self.model, name), getattr(TransformerConfig, name)
            if value != usual:
                raise ConfigError(
                    f"model.{name} = {str(value).lower()}: neither Marian nor CTranslate2 knows "
                    f"that; train with {str(usual).lower()}"
                )
