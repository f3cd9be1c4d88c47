"""Token embeddings."""

import math
from typing import Any

import torch
from torch import nn

from regard.errors import ConfigError
from regard.native import kernels
from regard.native.workspace import workspace_of
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
        if not self.weight.is_meta:  # `loading.load_model` wants its shape alone
            nn.init.normal_(self.weight, std=1 / self.scale)

    def forward(self, tokens: Int[Tensor, "*B"]) -> Float[Tensor, "*B D"]:
        weight = self.weight
        is_learning = torch.is_grad_enabled() and workspace_of(weight) is not None
        if is_learning and kernels.can_take(weight.detach()):
            rows: Tensor = _Rows.apply(tokens, weight, self.scale)  # type: ignore[no-untyped-call]
            return rows
        return nn.functional.embedding(tokens, weight) * self.scale


class _Rows(torch.autograd.Function):
    """The same; gradients are added to the rows that were read, where autograd fills a matrix."""

    @staticmethod
    def forward(ctx: Any, tokens: Tensor, weight: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(tokens)
        ctx.weight, ctx.scale = weight, scale
        return nn.functional.embedding(tokens, weight).mul_(scale)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor | None, None]:
        (tokens,), weight = ctx.saved_tensors, ctx.weight
        workspace = workspace_of(weight)
        total = None if workspace is None else workspace.sum_of(weight)
        total = torch.zeros_like(weight) if total is None else total
        rows = gradient.flatten(0, -2).contiguous()
        kernels.add_to_rows(total, tokens.flatten().contiguous(), rows, ctx.scale)
        if workspace is None:
            return None, total, None
        workspace.keep(total, weight)
        return None, None, None


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
