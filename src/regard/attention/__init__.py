"""Attention as the lectures define it: a query, keys, values, a score, a softmax, a sum.

    attend(query, keys, values, score=scaled_dot, mask=None)

is the whole recipe; `MultiHead` is the paper's use of it. `Attend` is the module through
which every architecture takes its softmax over keys, so that the lens can watch it.
"""

from regard.attention.attend import Attend, Attended, attend, attend_in_batches, watching
from regard.attention.cache import KeyValue, KeyValueCache
from regard.attention.diversity import head_diversity_penalty
from regard.attention.masks import causal_mask, padding_mask
from regard.attention.multihead import MultiHead
from regard.attention.rows import Sight, attend_rows
from regard.attention.scores import (
    Additive,
    Bilinear,
    FeedForwardScore,
    Score,
    dot,
    inverse_distance,
    scaled_dot,
)
from regard.attention.single import SingleHead
from regard.attention.slots import Ancestry, Slots
from regard.attention.windows import LocalMonotonic, LocalPredictive, Window

__all__ = [
    "Additive",
    "Ancestry",
    "Attend",
    "Attended",
    "Bilinear",
    "FeedForwardScore",
    "KeyValue",
    "KeyValueCache",
    "LocalMonotonic",
    "LocalPredictive",
    "MultiHead",
    "Score",
    "Sight",
    "SingleHead",
    "Slots",
    "Window",
    "attend",
    "attend_in_batches",
    "attend_rows",
    "causal_mask",
    "dot",
    "head_diversity_penalty",
    "inverse_distance",
    "padding_mask",
    "scaled_dot",
    "watching",
]
