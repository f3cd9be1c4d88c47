"""The three matrices that know the words: source embedding, target embedding, output layer."""

from torch import nn

from regard.errors import ConfigError
from regard.models.interface import ModelConfig
from regard.nn.dropout import Dropout
from regard.nn.embedding import Embedding
from regard.shapes import Float, Int, Tensor


class Words(nn.Module):
    """Token embedding with dropout, for a network that knows the order of what it reads."""

    def __init__(self, embedding: Embedding, dropout: float) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = Dropout(dropout)

    def forward(self, tokens: Int[Tensor, "*B"]) -> Float[Tensor, "*B D"]:
        embedded: Tensor = self.dropout(self.embedding(tokens))
        return embedded


def embeddings(
    config: ModelConfig, source_vocabulary: int, target_vocabulary: int
) -> tuple[Embedding, Embedding]:
    """The embeddings of source and target, one and the same if all matrices are shared.

    Raises:
        ConfigError: they are to be shared, and the vocabularies differ.
    """
    source = Embedding(source_vocabulary, config.d_model)
    is_shared = config.share_embeddings == "all"
    target = source if is_shared else Embedding(target_vocabulary, config.d_model)
    if len(target.weight) != target_vocabulary:
        raise ConfigError(
            'model.share_embeddings = "all" needs one vocabulary for both languages; '
            'set text.joint = true, or model.share_embeddings = "target"'
        )
    return source, target


def output_layer(config: ModelConfig, target: Embedding, *, bias: bool = False) -> nn.Linear:
    """The layer from a hidden state to a score for every target token.

    Its matrix is the target embedding unless nothing is shared (Press & Wolf 2017).
    """
    output = nn.Linear(config.d_model, len(target.weight), bias=bias)
    if bias:
        nn.init.zeros_(output.bias)
    if config.share_embeddings == "none":
        nn.init.normal_(output.weight, std=config.d_model**-0.5)
    else:
        output.weight = target.weight
    return output
