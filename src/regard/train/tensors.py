"""A batch of numpy arrays as tensors on a device."""

from dataclasses import dataclass

import torch

from regard.data.batching import Batch
from regard.shapes import Bool, Int, Tensor


@dataclass(frozen=True, slots=True)
class TensorBatch:
    """The same fields as `regard.data.batching.Batch`."""

    source: Int[Tensor, "B S"]
    source_mask: Bool[Tensor, "B S"]
    target_in: Int[Tensor, "B T"]
    target_out: Int[Tensor, "B T"]
    target_mask: Bool[Tensor, "B T"]

    @classmethod
    def of(cls, batch: Batch, device: torch.device | str) -> "TensorBatch":
        return cls(
            torch.from_numpy(batch.source).to(device),
            torch.from_numpy(batch.source_mask).to(device),
            torch.from_numpy(batch.target_in).to(device),
            torch.from_numpy(batch.target_out).to(device),
            torch.from_numpy(batch.target_mask).to(device),
        )

    def twice(self) -> "TensorBatch":
        """Every example again, after all of them."""
        return TensorBatch(
            self.source.repeat(2, 1),
            self.source_mask.repeat(2, 1),
            self.target_in.repeat(2, 1),
            self.target_out.repeat(2, 1),
            self.target_mask.repeat(2, 1),
        )
