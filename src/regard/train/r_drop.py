"""R-Drop: two passes with different dropout should agree; the formula, and a fused path."""

from typing import Any

import torch

from regard.shapes import Float, Int, Tensor
from regard.train import loss
from regard.train.loss import Loss, label_smoothed_loss
from regard.train.products import add_product, multiply_into


def r_drop_loss(
    logits: Float[Tensor, "2 M V"], targets: Int[Tensor, "M"], smoothing: float, alpha: float
) -> Loss:
    """The loss of two passes over the same tokens, and how far they are apart.

        L_KL  = ½ (KL(p ‖ q) + KL(q ‖ p))                 (2)
        L_NLL = −log p(y) − log q(y)                      (3)
        loss  = ½ (L_NLL + α · L_KL)                      ½ of (4)

    Liang et al. 2021, section 2.1; p and q are the distributions of the first and the second
    pass. Differs: half of their sum, so that without dropout, where p = q, it is the loss of one
    pass; α is theirs (5 for translation). L_NLL is label-smoothed, as in their code.
    """
    p, q = logits.log_softmax(-1)
    first, second = (label_smoothed_loss(each, targets, smoothing) for each in logits)
    divergence = ((p.exp() * (p - q)).sum() + (q.exp() * (q - p)).sum()) / 2
    smoothed = (first.smoothed + second.smoothed + alpha * divergence) / 2
    return Loss(smoothed, (first.nll + second.nll) / 2)


def fused_r_drop_loss(
    hidden: Float[Tensor, "2 M D"],
    weight: Float[Tensor, "V D"],
    bias: Float[Tensor, "V"] | None,
    targets: Int[Tensor, "M"],
    smoothing: float,
    alpha: float,
) -> Loss:
    """Equals `r_drop_loss(hidden @ weight.T + bias, targets, smoothing, alpha)`.

    Made as `fused_projection_loss` is, with the logits of both passes over the same tokens side
    by side in a chunk. Those of the first, z, are turned into

        ∂loss/∂z_k = ½ (p(k) − (1 − ε) · [k = y] − ε / V)
                   + α/4 · (p(k) (log p(k) − log q(k) − KL(p ‖ q)) + p(k) − q(k))

    and those of the second into the same with p and q exchanged. The last line follows from
    ∂log p(j)/∂z_k = [j = k] − p(k): for KL(p ‖ q) = Σ_j p(j) (log p(j) − log q(j)),

        ∂KL(p ‖ q)/∂z_k = p(k) (log p(k) − log q(k) − KL(p ‖ q))
        ∂KL(q ‖ p)/∂z_k = −Σ_j q(j) ([j = k] − p(k)) = p(k) − q(k)
    """
    smoothed, nll = _FusedRDropLoss.apply(  # type: ignore[no-untyped-call]
        hidden, weight, bias, targets, smoothing, alpha, torch.is_grad_enabled()
    )
    return Loss(smoothed, nll)


class _FusedRDropLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        smoothing: float,
        alpha: float,
        is_recording: bool,
    ) -> tuple[Tensor, Tensor]:
        # A parameter claims to need its gradient even under no_grad.
        needs_gradient = is_recording and any(ctx.needs_input_grad)
        mean_weight = weight.mean(0)
        mean_bias = 0.0 if bias is None else bias.mean()
        d_hidden = d_weight = d_bias = None
        if needs_gradient:
            share = -smoothing / len(weight) / 2
            d_hidden = torch.empty_like(hidden)
            total = hidden.sum((0, 1), dtype=weight.dtype)
            d_weight = (share * total).expand_as(weight).contiguous()
            d_bias = None if bias is None else torch.full_like(bias, 2 * share * len(targets))
        num_pairs = min(max(loss.CHUNK_TOKENS // 2, 1), max(len(targets), 1))
        factor = weight.to(hidden.dtype)
        room, more_room = weight.new_empty(2, 2 * num_pairs, len(weight))
        quarter = weight.new_tensor([alpha / 4, -alpha / 4]).view(2, 1, 1)
        smoothed, nll = weight.new_zeros(()), weight.new_zeros(())
        for begin in range(0, len(targets), num_pairs):
            chunk = slice(begin, begin + num_pairs)
            states = hidden[:, chunk].flatten(0, 1)  # 2C D
            target = targets[chunk].repeat(2).unsqueeze(1)  # 2C 1
            logits = multiply_into(room[: len(states)], states, factor.T)
            if bias is not None:
                logits += bias
            gradient = more_room[: len(states)].view(2, -1, len(weight))  # 2 C V
            torch.sub(*logits.view_as(gradient), out=gradient[1])
            target_logit = logits.gather(1, target)
            highest = logits.amax(1, keepdim=True)
            probs = torch.softmax(logits, 1, out=logits)
            # log Σ exp z, out of the one probability that cannot have become 0.
            log_sum = highest - probs.amax(1, keepdim=True).log_()
            chunk_nll = (log_sum - target_logit).sum()
            mean_logit = states.to(weight.dtype) @ mean_weight + mean_bias
            chunk_uniform = (log_sum.squeeze(1) - mean_logit).sum()
            nll += chunk_nll / 2
            smoothed += ((1 - smoothing) * chunk_nll + smoothing * chunk_uniform) / 2
            p, q = probs = probs.view_as(gradient)
            gradient[1] -= torch.sub(*log_sum.chunk(2))  # log p − log q
            torch.mul(p, gradient[1], out=gradient[0])
            gradient[1] *= q
            gradient *= quarter  # α/4 · p (log p − log q) and α/4 · q (log q − log p)
            divergence = gradient.sum(2)  # 2 C
            smoothed += divergence.sum()
            if d_hidden is None or d_weight is None:
                continue
            gradient.addcmul_(probs, ((2 + alpha) / 4 - divergence).unsqueeze(2))
            gradient[0].sub_(q, alpha=alpha / 4)
            gradient[1].sub_(p, alpha=alpha / 4)
            gradient = gradient.flatten(0, 1)  # 2C V
            gradient.scatter_add_(1, target, gradient.new_full(target.shape, (smoothing - 1) / 2))
            if d_bias is not None:
                d_bias += gradient.sum(0)
            gradient = gradient.to(states.dtype)
            d_hidden[:, chunk] = (gradient @ factor).view(2, -1, weight.shape[1])
            add_product(d_weight, gradient.T, states)
        if d_hidden is not None:
            d_hidden -= smoothing / 2 * mean_weight
        ctx.save_for_backward(d_hidden, d_weight, d_bias)
        ctx.mark_non_differentiable(nll)
        return smoothed, nll

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        scaled = [g if g is None else g * grads[0] for g in ctx.saved_tensors]
        return *scaled, None, None, None, None
