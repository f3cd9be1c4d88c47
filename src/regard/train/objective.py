"""The loss of a model on a batch: teacher forcing from end to end."""

from typing import Any

import torch

from regard.data.batching import Batch
from regard.models.interface import Seq2Seq
from regard.plain import is_plain
from regard.train.loss import Loss, fused_projection_loss, label_smoothed_loss
from regard.train.tensors import TensorBatch


def batch_loss(model: Seq2Seq[Any], batch: Batch, smoothing: float) -> Loss:
    """The label-smoothed loss, summed over the real target tokens of the batch.

    The decoder reads ⟨SOS⟩ y_1 … y_T and should say y_1 … y_T ⟨EOS⟩.
    """
    tensors = TensorBatch.of(batch, model.output.weight.device)
    memory = model.encode(tensors.source, tensors.source_mask)
    hidden = model.decode(memory, tensors.target_in, tensors.target_mask)
    output = model.output
    targets = tensors.target_out[tensors.target_mask]
    # Sums over a vocabulary need fp32, whatever the layers below were computed in.
    real = hidden[tensors.target_mask].to(output.weight.dtype)
    with torch.autocast(real.device.type, enabled=False):
        if is_plain():
            return label_smoothed_loss(output(real), targets, smoothing)
        return fused_projection_loss(real, output.weight, output.bias, targets, smoothing)
