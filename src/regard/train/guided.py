"""Guided alignment: an attention of the decoder is taught where each word comes from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from regard.attention import Attend, watching
from regard.data.batching import Batch
from regard.errors import ConfigError
from regard.models.interface import Seq2Seq
from regard.shapes import Float, Tensor
from regard.train.config import TrainConfig
from regard.train.loss import Loss


def alignment_loss(
    weights: Float[Tensor, "*B T S"], alignment: Float[Tensor, "*#B T S"]
) -> Float[Tensor, ""]:
    """Cross entropy between an alignment and attention, summed over the target tokens.

        L_a = −Σ_t Σ_s G_ts log A_ts

    Garg et al. 2019, section 4.2, after Chen et al. 2016. G_t is the distribution over source
    tokens that target token t is linked to, A_t what the step that writes t looks at. A token
    with no link, G_t = 0, is not guided.
    """
    # Far below what an attention can learn from; log 0 would make everything NaN.
    least = torch.finfo(weights.dtype).tiny
    return -(alignment * weights.clamp_min(least).log()).sum()


@dataclass(frozen=True, slots=True)
class Guide:
    """Adds λ · L_a to a loss, for one attention of a model.

    Only this attention runs the explicit formula, and it is watched by each thread for itself.
    Differs from Garg et al.: the guided head sees the target up to the last word only, as in
    decoding, and there is no second pass that sees all of it. Shifted, it sees the word itself as
    well: A_t is what the step looks at that is fed t (Chen et al. 2020, section 3.2).

    Attributes:
        attend: the attention that is guided.
        head: which of its heads, from 1; 0 is the mean of all.
        weight: λ.
        is_shifted: whether a word is taught to the step that is fed it.
    """

    attend: Attend
    head: int
    weight: float
    is_shifted: bool = False

    @classmethod
    def of(cls, model: Seq2Seq[Any], config: TrainConfig) -> "Guide":
        """The guide that a config asks for.

        Raises:
            ConfigError: the model has no such attention.
        """
        layers = model.cross_attentions()
        if config.guided_layer > len(layers) or not layers:
            raise ConfigError(
                f"train.guided_layer = {config.guided_layer}: {len(layers)} layers of this model's "
                "decoder attend to the source"
            )
        return cls(
            layers[config.guided_layer - 1],
            config.guided_head,
            config.guided_alignment,
            config.guided_shift,
        )

    def taught(self, loss: Callable[[], Loss], batch: Batch) -> Loss:
        """The loss of a model on a batch, and what is added to it.

        Args:
            loss: runs the model on the batch; or twice on it, one copy behind the other, and
                gives the mean.
            batch: what it runs on, with its alignment.

        Raises:
            ConfigError: the attention has no such head.
        """
        assert batch.alignment is not None, "a store without links"
        seen: list[Tensor] = []
        with watching({self.attend: seen.append}):
            found = loss()
        # A recurrent decoder attends step by step.
        weights = torch.cat(seen, dim=2)  # B H T S
        if self.head > weights.shape[1]:
            raise ConfigError(
                f"train.guided_head = {self.head}: the layer has {weights.shape[1]} heads"
            )
        weights = weights[:, self.head - 1] if self.head else weights.mean(1)  # B T S
        # A logarithm needs fp32, whatever the attention was computed in.
        weights = weights.to(torch.promote_types(weights.dtype, torch.float32))
        alignment = torch.from_numpy(batch.alignment).to(weights)
        if self.is_shifted:  # nothing is taught to the first step; the last has no word of its own
            alignment = F.pad(alignment, (0, 0, 1, 0))[:, :-1]
        copies = weights.unflatten(0, (-1, len(alignment)))  # copies B T S
        term = alignment_loss(copies, alignment) / len(copies)
        return Loss(found.smoothed + self.weight * term, found.nll)
