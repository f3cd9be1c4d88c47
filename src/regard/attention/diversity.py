"""A penalty that pushes heads apart."""

import torch

from regard.shapes import Float, Tensor


def head_diversity_penalty(weights: Float[Tensor, "*B H T S"]) -> Float[Tensor, "*B T"]:
    """How much the heads of one query look at the same keys.

        P = ‖A Aᵀ − I‖²_F,   A the H × S matrix of one query's weights

    Lin et al. 2017, "A Structured Self-Attentive Sentence Embedding", equation 8. Zero when
    every head looks at one key and no two at the same.
    """
    per_query = weights.transpose(-3, -2)  # *B T H S
    gram = per_query @ per_query.transpose(-2, -1)  # *B T H H
    identity = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    return (gram - identity).square().sum((-2, -1))
