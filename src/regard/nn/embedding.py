"""Token embeddings."""

import math

import torch
from torch import nn

from regard.errors import ConfigError
from regard.shapes import Float, Int, Tensor


class Embedding(nn.Module):
    """Token embedding, scaled as the paper does it.

        x = E[token] · √d_model

    Vaswani et al. 2017, section 3.4. E starts as N(0, 1/d_model), so that x has unit variance
    and the same matrix can serve as the output projection.
    """

    def __init__(self, num_tokens: int, d_model: int) -> None:
        super().__init__()
        self.scale = math.sqrt(d_model)
        self.weight = nn.Parameter(torch.empty(num_tokens, d_model))
        nn.init.normal_(self.weight, std=1 / self.scale)

    def forward(self, tokens: Int[Tensor, "*B"]) -> Float[Tensor, "*B D"]:
        return nn.functional.embedding(tokens, self.weight) * self.scale


def load_pretrained(
    embedding: nn.Module, vectors: dict[str, Float[Tensor, "D"]], pieces: list[str]
) -> int:
    """Overwrite the rows of known pieces with pretrained vectors; return how many.

    The vectors are shrunk by 1/√d_model, because the embedding multiplies by √d_model.

    Args:
        embedding: what to fill.
        vectors: a vector for each piece that has one.
        pieces: the vocabulary in the order of its ids.

    Raises:
        ConfigError: the vectors do not have the width of the embedding.
    """
    assert isinstance(embedding, Embedding)
    width = embedding.weight.shape[1]
    found = 0
    with torch.no_grad():
        for row, piece in enumerate(pieces):
            vector = vectors.get(piece)
            if vector is None:
                continue
            if len(vector) != width:
                raise ConfigError(
                    f"the pretrained vector of {piece!r} has width {len(vector)}, "
                    f"model.d_model is {width}; make them equal"
                )
            embedding.weight[row] = vector / embedding.scale
            found += 1
    return found
