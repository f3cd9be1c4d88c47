"""The loss of a model on a batch: teacher forcing from end to end."""

from typing import Any

import torch
from torch import nn

from regard.data.batching import Batch
from regard.models.interface import Seq2Seq
from regard.nn.penalty import gathering
from regard.plain import is_plain
from regard.shapes import Tensor
from regard.train.loss import Loss, fused_projection_loss, label_smoothed_loss
from regard.train.r_drop import fused_r_drop_loss, r_drop_loss
from regard.train.tensors import TensorBatch


def batch_loss(model: Seq2Seq[Any], batch: Batch, smoothing: float, r_drop: float = 0.0) -> Loss:
    """The label-smoothed loss, summed over the real target tokens of the batch.

    The decoder reads ⟨SOS⟩ y_1 … y_T and should say y_1 … y_T ⟨EOS⟩. Penalties that layers hand in
    (`regard.nn.penalty`) count once a target token.

    Args:
        model: what is asked.
        batch: source and target sentences.
        smoothing: ε of the label smoothing.
        r_drop: α of R-Drop; above 0 every sentence goes through twice, in one batch, and each
            time draws a dropout of its own.
    """
    once = TensorBatch.of(batch, model.output.weight.device)
    targets = once.target_out[once.target_mask]
    tensors = once.twice() if r_drop > 0 else once
    with gathering() as penalties:
        memory = model.encode(tensors.source, tensors.source_mask)
        hidden = model.decode(memory, tensors.target_in, tensors.target_mask)
    real = hidden[tensors.target_mask]
    # Sums over a vocabulary need fp32, whatever the products are taken in.
    is_low = torch.is_autocast_enabled(real.device.type) and not is_plain()
    real = real.to(torch.bfloat16 if is_low else model.output.weight.dtype)
    with torch.autocast(real.device.type, enabled=False):
        loss = _word_loss(model.output, real, targets, smoothing, r_drop)
    if not penalties:
        return loss
    return Loss(loss.smoothed + len(targets) * torch.stack(penalties).sum(), loss.nll)


def _word_loss(
    output: nn.Linear, hidden: Tensor, targets: Tensor, smoothing: float, r_drop: float
) -> Loss:
    """How well the hidden states predict the targets, by the formula or by its fused path."""
    if r_drop > 0:
        both = hidden.view(2, len(targets), hidden.shape[1])
        if is_plain():
            return r_drop_loss(output(both), targets, smoothing, r_drop)
        return fused_r_drop_loss(both, output.weight, output.bias, targets, smoothing, r_drop)
    if is_plain():
        return label_smoothed_loss(output(hidden), targets, smoothing)
    return fused_projection_loss(hidden, output.weight, output.bias, targets, smoothing)
