"""Normalisation: over the features of one position, or over the batch."""

from typing import Literal

import torch
from torch import nn

from regard.shapes import Bool, Float, Tensor

NormKind = Literal["layer", "batch"]


class LayerNorm(nn.Module):
    """Layer normalisation.

        y = (x − μ) / √(σ² + ε) · γ + β,   μ, σ² over the D features of one position

    Ba, Kiros & Hinton 2016, equation 4. It looks at one position alone, so neither the batch
    nor the padding can change it.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(
        self, x: Float[Tensor, "*B D"], mask: Bool[Tensor, "*B"] | None = None
    ) -> Float[Tensor, "*B D"]:
        return nn.functional.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class BatchNorm(nn.Module):
    """Batch normalisation over all real positions of a batch, to contrast with layer norm.

        y = (x − μ) / √(σ² + ε) · γ + β,   μ, σ² over the positions of the batch, per feature

    Ioffe & Szegedy 2015, algorithm 1. In training a sentence's result depends on its
    neighbours, and a position's on the positions after it; at inference the running averages
    of μ and σ² are used instead. Differs: the average of σ² is not corrected by m/(m − 1).
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, d_model: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        self.eps = eps
        self.momentum = momentum
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.register_buffer("running_mean", torch.zeros(d_model))
        self.register_buffer("running_var", torch.ones(d_model))

    def forward(
        self, x: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T D"]:
        if self.training:
            real = x.flatten(0, 1) if mask is None else x[mask]
            mean, var = real.mean(0), real.var(0, unbiased=False)
            with torch.no_grad():
                self.running_mean.lerp_(mean, self.momentum)
                self.running_var.lerp_(var, self.momentum)
        else:
            mean, var = self.running_mean, self.running_var
        return (x - mean) * torch.rsqrt(var + self.eps) * self.weight + self.bias


NORMS: dict[NormKind, type[LayerNorm] | type[BatchNorm]] = {"layer": LayerNorm, "batch": BatchNorm}
