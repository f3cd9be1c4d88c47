"""R-Drop: two passes with different dropout should agree; the formula, and a fused path."""

import torch

from regard.shapes import Float, Int, Tensor
from regard.train import loss
from regard.train.loss import Loss, label_smoothed_loss
from regard.train.projection import Projection, normalise_, with_gradients


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
    inputs = (hidden, weight, bias)
    is_learning = torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in inputs)
    with torch.no_grad():
        output = Projection(hidden, weight, bias, smoothing / 2, is_learning=is_learning)
        d_hidden = torch.empty_like(hidden) if is_learning else None
        num_pairs = min(max(loss.CHUNK_TOKENS // 2, 1), max(len(targets), 1))
        room, more_room = weight.new_empty(2, 2 * num_pairs, len(weight))
        quarter = weight.new_tensor([alpha / 4, -alpha / 4]).view(2, 1, 1)
        smoothed, nll = weight.new_zeros(()), weight.new_zeros(())
        for begin in range(0, len(targets), num_pairs):
            chunk = slice(begin, begin + num_pairs)
            states = hidden[:, chunk].flatten(0, 1)  # 2C D
            target = targets[chunk].repeat(2).unsqueeze(1)  # 2C 1
            logits = output.logits_(states, room[: len(states)])
            gradient = more_room[: len(states)].view(2, -1, len(weight))  # 2 C V
            torch.sub(*logits.view_as(gradient), out=gradient[1])
            target_logit = logits.gather(1, target)
            probs, log_sum = normalise_(logits)
            chunk_nll = (log_sum - target_logit).sum()
            chunk_uniform = (log_sum - output.mean_logit(states)).sum()
            nll += chunk_nll / 2
            smoothed += ((1 - smoothing) * chunk_nll + smoothing * chunk_uniform) / 2
            p, q = probs = probs.view_as(gradient)
            gradient[1] -= torch.sub(*log_sum.chunk(2))  # log p − log q
            torch.mul(p, gradient[1], out=gradient[0])
            gradient[1] *= q
            gradient *= quarter  # α/4 · p (log p − log q) and α/4 · q (log q − log p)
            divergence = gradient.sum(2)  # 2 C
            smoothed += divergence.sum()
            if d_hidden is not None:
                gradient.addcmul_(probs, ((2 + alpha) / 4 - divergence).unsqueeze(2))
                gradient[0].sub_(q, alpha=alpha / 4)
                gradient[1].sub_(p, alpha=alpha / 4)
                said = gradient.new_full(target.shape, (smoothing - 1) / 2)
                gradient = gradient.flatten(0, 1).scatter_add_(1, target, said)  # 2C V
                d_hidden[:, chunk] = output.learn(states, gradient).view(2, -1, hidden.shape[2])
    if d_hidden is not None:
        smoothed = with_gradients(smoothed, inputs, (d_hidden, output.d_weight, output.d_bias))
    return Loss(smoothed, nll)
