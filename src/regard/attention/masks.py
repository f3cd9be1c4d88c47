"""Masks: bool, True = may be attended to, broadcastable to `B H T S`."""

import torch

from regard.shapes import Bool, Int, Tensor


def padding_mask(lengths: Int[Tensor, "B"], num_positions: int) -> Bool[Tensor, "B S"]:
    """True at the positions a sentence really has, False at the padding after it."""
    return torch.arange(num_positions, device=lengths.device) < lengths.unsqueeze(-1)


def causal_mask(
    num_queries: int, num_keys: int, device: torch.device | None = None
) -> Bool[Tensor, "T S"]:
    """The look-ahead mask: query t sees the keys up to its own position.

    The last query stands at the last key, so that a single query after a cache of earlier
    keys sees them all.
    """
    everything = torch.ones(num_queries, num_keys, dtype=torch.bool, device=device)
    return everything.tril(num_keys - num_queries)
