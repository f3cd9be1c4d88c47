"""Label-smoothed cross entropy: the formula, and a fused path that is equal to it."""

from typing import NamedTuple

import torch

from regard.shapes import Float, Int, Tensor
from regard.train.projection import Projection, normalise_, with_gradients

CHUNK_TOKENS = 128
"""States whose logits a fused loss holds at a time."""


class Loss(NamedTuple):
    """Sums over tokens.

    Attributes:
        smoothed: what is minimised.
        nll: −log p(target), what perplexity is made of; carries no gradient.
    """

    smoothed: Float[Tensor, ""]
    nll: Float[Tensor, ""]


def label_smoothed_loss(
    logits: Float[Tensor, "M V"], targets: Int[Tensor, "M"], smoothing: float
) -> Loss:
    """Cross entropy against a target that keeps a little of its mass for every token.

        q(k) = (1 − ε) · [k = y] + ε / V
        loss = −Σ_k q(k) log p(k)

    Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4, with ε = 0.1.
    """
    log_probs = logits.log_softmax(-1)
    nll = -log_probs.gather(1, targets.unsqueeze(1)).sum()
    uniform = -log_probs.mean(1).sum()
    return Loss((1 - smoothing) * nll + smoothing * uniform, nll.detach())


def fused_projection_loss(
    hidden: Float[Tensor, "M D"],
    weight: Float[Tensor, "V D"],
    bias: Float[Tensor, "V"] | None,
    targets: Int[Tensor, "M"],
    smoothing: float,
) -> Loss:
    """Equals `label_smoothed_loss(hidden @ weight.T + bias, targets, smoothing)`.

    The M × V logits z are never stored: they are made a hundred tokens or so at a time, turned
    into their own gradient in place,

        ∂loss/∂z_k = p(k) − (1 − ε) · [k = y] − ε / V

    and multiplied into the gradients of `hidden` and `weight` at once, in the forward pass; the
    last term is `Projection`'s. Where `hidden` is in bfloat16, so are the three products.
    """
    inputs = (hidden, weight, bias)
    is_learning = torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in inputs)
    with torch.no_grad():
        output = Projection(hidden, weight, bias, smoothing, is_learning=is_learning)
        d_hidden = torch.empty_like(hidden) if is_learning else None
        room = weight.new_empty(min(CHUNK_TOKENS, len(hidden)), len(weight))
        smoothed, nll = weight.new_zeros(()), weight.new_zeros(())
        for begin in range(0, len(hidden), CHUNK_TOKENS):
            chunk = slice(begin, begin + CHUNK_TOKENS)
            states, target = hidden[chunk], targets[chunk].unsqueeze(1)
            logits = output.logits_(states, room[: len(states)])
            target_logit = logits.gather(1, target)
            probs, log_sum = normalise_(logits)
            chunk_nll = (log_sum - target_logit).sum()
            chunk_uniform = (log_sum - output.mean_logit(states)).sum()
            nll += chunk_nll
            smoothed += (1 - smoothing) * chunk_nll + smoothing * chunk_uniform
            if d_hidden is not None:
                gradient = probs
                gradient.scatter_add_(1, target, gradient.new_full(target.shape, smoothing - 1))
                d_hidden[chunk] = output.learn(states, gradient)
    if d_hidden is not None:
        smoothed = with_gradients(smoothed, inputs, (d_hidden, output.d_weight, output.d_bias))
    return Loss(smoothed, nll)
