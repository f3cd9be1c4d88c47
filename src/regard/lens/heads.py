"""What a head does, in four numbers: how spread, how far, in which direction, how diagonal."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch

from regard.lens.record import AttentionRecord, Kind
from regard.shapes import Float, Tensor

# A variance below this is rounding: nothing varies, and nothing correlates with it.
TINY = 1e-12


@dataclass(frozen=True, slots=True)
class HeadStatistics:
    """Numbers of every layer and head of one kind, each the mean over the queries that look.

    Query i stands at c_i among the keys: at i in self-attention, at i · (S − 1)/(T − 1) in
    cross-attention, so that both sentences begin and end together.

    Attributes:
        entropy: −Σ_j α_ij ln α_ij; 0 where one key takes all, ln S where all are alike
            (Ghader & Monz 2017, equation 6).
        distance: Σ_j α_ij |j − c_i|, how far it looks (Vig & Belinkov 2019, section 4.3).
        offset: Σ_j α_ij (j − c_i), how far to the right: −1 is the word before.
        diagonal: the correlation of i and j when (i, j) is drawn with probability α_ij / T.
            1 is word by word in the same order, −1 in reverse, 0 no order at all.
    """

    entropy: Float[Tensor, "L H"]
    distance: Float[Tensor, "L H"]
    offset: Float[Tensor, "L H"]
    diagonal: Float[Tensor, "L H"]

    def to_json(self) -> dict[str, Any]:
        """Plain lists, a row a layer."""
        return {field.name: getattr(self, field.name).tolist() for field in fields(self)}


def mean_statistics(several: Sequence[HeadStatistics]) -> HeadStatistics:
    """The mean over several sentences, each counting the same."""

    def mean(name: str) -> Float[Tensor, "L H"]:
        return torch.stack([getattr(each, name) for each in several]).mean(0)

    return HeadStatistics(*(mean(field.name) for field in fields(HeadStatistics)))


def head_statistics(record: AttentionRecord) -> dict[Kind, HeadStatistics]:
    """The statistics of each kind that a record has."""
    return {
        kind: statistics_of(weights, is_self=kind != "cross")
        for kind, weights in record.weights.items()
    }


def statistics_of(weights: Float[Tensor, "L H T S"], *, is_self: bool) -> HeadStatistics:
    """The statistics of one kind; a row that looks at nothing counts for nothing.

    Args:
        weights: of every layer and head.
        is_self: whether queries and keys are the same positions.
    """
    num_queries, num_keys = weights.shape[-2:]
    step = 1.0 if is_self else (num_keys - 1) / max(num_queries - 1, 1)
    centre = step * torch.arange(num_queries, dtype=weights.dtype).unsqueeze(1)  # T 1
    key = torch.arange(num_keys, dtype=weights.dtype).expand(num_queries, -1)  # T S
    looks = weights.sum(-1) > 0  # L H T
    num_looking = looks.sum(-1).clamp_min(1)

    def mean(each: Float[Tensor, "L H T"]) -> Float[Tensor, "L H"]:
        return each.sum(-1) / num_looking

    def expected(value: Float[Tensor, "T S"]) -> Float[Tensor, "L H"]:
        return mean((weights * value).sum(-1))

    entropy = -torch.special.xlogy(weights, weights).sum(-1)  # L H T
    query = centre.expand(-1, num_keys)
    mean_query, mean_key = expected(query), expected(key)
    covariance = expected(query * key) - mean_query * mean_key
    variances = (expected(query**2) - mean_query**2) * (expected(key**2) - mean_key**2)
    is_constant = variances < TINY
    return HeadStatistics(
        entropy=mean(entropy),
        distance=expected((key - centre).abs()),
        offset=expected(key - centre),
        diagonal=torch.where(is_constant, 0.0, covariance / variances.clamp_min(TINY).sqrt()),
    )
