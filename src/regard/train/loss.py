"""Label-smoothed cross entropy: the formula, and a fused path that is equal to it."""

from typing import Any, NamedTuple

import torch

from regard.shapes import Float, Int, Tensor
from regard.train.products import add_product, multiply_into


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

    The M × V logits z are never stored: they are made a few hundred tokens at a time, turned
    into their own gradient in place,

        ∂loss/∂z_k = p(k) − (1 − ε) · [k = y] − ε / V

    and multiplied into the gradients of `hidden` and `weight` at once, in the forward pass.
    What is the same for all k takes no pass over them: the mean logit is the product with the
    mean weight, and the gradient's last term adds one vector to every row. One exponential
    serves both the gradient and the loss: log Σ exp z = max z − log max p.

    Where `hidden` is in bfloat16, the three products are taken in it; sums are kept in fp32.
    """
    smoothed, nll = _FusedProjectionLoss.apply(  # type: ignore[no-untyped-call]
        hidden, weight, bias, targets, smoothing, torch.is_grad_enabled()
    )
    return Loss(smoothed, nll)


CHUNK_TOKENS = 256


class _FusedProjectionLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        smoothing: float,
        is_recording: bool,
    ) -> tuple[Tensor, Tensor]:
        # A parameter claims to need its gradient even under no_grad, as in validation.
        needs_gradient = is_recording and any(ctx.needs_input_grad)
        mean_weight = weight.mean(0)
        mean_bias = 0.0 if bias is None else bias.mean()
        d_hidden = d_weight = d_bias = None
        if needs_gradient:
            share = -smoothing / len(weight)
            d_hidden = torch.empty_like(hidden)
            d_weight = (share * hidden.sum(0, dtype=weight.dtype)).expand_as(weight).contiguous()
            d_bias = None if bias is None else torch.full_like(bias, share * len(hidden))
        factor = weight.to(hidden.dtype)
        room = weight.new_empty(min(CHUNK_TOKENS, len(hidden)), len(weight))
        smoothed, nll = weight.new_zeros(()), weight.new_zeros(())
        for begin in range(0, len(hidden), CHUNK_TOKENS):
            chunk = slice(begin, begin + CHUNK_TOKENS)
            target = targets[chunk].unsqueeze(1)
            logits = multiply_into(room[: len(target)], hidden[chunk], factor.T)
            if bias is not None:
                logits += bias
            target_logit = logits.gather(1, target)
            highest = logits.amax(1, keepdim=True)
            probs = torch.softmax(logits, 1, out=logits)
            # log Σ exp z, out of the one probability that cannot have become 0.
            log_sum = highest - probs.amax(1, keepdim=True).log_()
            chunk_nll = (log_sum - target_logit).sum()
            mean_logit = hidden[chunk].to(weight.dtype) @ mean_weight + mean_bias
            chunk_uniform = (log_sum.squeeze(1) - mean_logit).sum()
            nll += chunk_nll
            smoothed += (1 - smoothing) * chunk_nll + smoothing * chunk_uniform
            if d_hidden is None or d_weight is None:
                continue
            probs.scatter_add_(1, target, probs.new_full(target.shape, smoothing - 1))
            gradient = probs.to(hidden.dtype)
            torch.mm(gradient, factor, out=d_hidden[chunk])
            add_product(d_weight, gradient.T, hidden[chunk])
            if d_bias is not None:
                d_bias += probs.sum(0)
        if d_hidden is not None:
            d_hidden -= smoothing * mean_weight
        ctx.save_for_backward(d_hidden, d_weight, d_bias)
        ctx.mark_non_differentiable(nll)
        return smoothed, nll

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        scaled = [g if g is None else g * grads[0] for g in ctx.saved_tensors]
        return *scaled, None, None, None
