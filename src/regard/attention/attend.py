"""The softmax over keys: the formula, and the one module every architecture takes it from."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from regard.attention.masks import causal_mask
from regard.attention.scores import Score, scaled_dot
from regard.attention.windows import Window
from regard.plain import is_plain
from regard.shapes import Bool, Float, Int, Tensor

Watcher = Callable[[Tensor], None]


class Attended(NamedTuple):
    """What attention gives back: the weighted sums of values, and the weights."""

    output: Float[Tensor, "*B T Dv"]
    weights: Float[Tensor, "*B T S"]


def attend(
    query: Float[Tensor, "*B T Dq"],
    keys: Float[Tensor, "*B S Dk"],
    values: Float[Tensor, "*B S Dv"],
    *,
    score: Score = scaled_dot,
    mask: Bool[Tensor, "*#B #T S"] | None = None,
    window: Window | None = None,
    positions: Int[Tensor, "T"] | None = None,
) -> Attended:
    """Attention, the recipe: compare the query with every key, and average the values.

        α(q, k_j) = softmax_j e(q, k_j)
        output    = Σ_j α(q, k_j) v_j

    With the scaled inner product this is softmax(QKᵀ/√d_k)V, Vaswani et al. 2017, equation 1.
    The output is a convex combination of the values. Queries, keys and values may have three
    different widths as long as the score can compare them.

    Args:
        query: what is asked, one row a question.
        keys: what each place offers to be found by.
        values: what each place gives when it is found.
        score: how well a key answers a query.
        mask: True where a query may attend to a key. A query that may attend to nothing
            gets zeros.
        window: narrows the mask around each query (local attention).
        positions: where the queries stand, for a window; 0, 1, 2 … unless given.
    """
    scores = score(query, keys)  # *B T S
    gain = None
    if window is not None:
        if positions is None:
            positions = torch.arange(query.shape[-2], device=query.device)
        if mask is None:
            mask = torch.ones(keys.shape[-2], dtype=torch.bool, device=keys.device).unsqueeze(0)
        mask, gain = window(query, positions, mask)
    weights = _masked_softmax(scores, mask)
    if gain is not None:
        weights = weights * gain
    return Attended(weights @ values, weights)


def _masked_softmax(
    scores: Float[Tensor, "*B T S"], mask: Bool[Tensor, "*#B #T S"] | None
) -> Float[Tensor, "*B T S"]:
    """Softmax over the keys that the mask leaves; zeros where it leaves none."""
    if mask is None:
        return scores.softmax(-1)
    # The lowest finite number, not −∞: a row of −∞ alone would give 0/0.
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(-1).masked_fill(~mask, 0.0)


def attend_in_batches(
    query: Float[Tensor, "G T K"],
    keys: Float[Tensor, "G S K"],
    values: Float[Tensor, "G S Kv"],
    bias: Float[Tensor, "G #T S"] | None,
) -> Float[Tensor, "G T Kv"]:
    """Equals `attend` with the scaled inner product, for many small problems side by side.

    Two batched products and a softmax between them. For the few queries and keys of a decoding
    step that spares the set-up of the fused kernel, which is made for long ones.

    Args:
        query: of one sentence and head each, as are the keys and values.
        keys: what each place offers to be found by.
        values: what each place gives.
        bias: 0 where a query may attend to a key, −∞ where not; every query has one key at least.
            One row serves all queries.
    """
    scale = query.shape[-1] ** -0.5
    scores = torch.baddbmm(
        query.new_empty(1, 1, 1) if bias is None else bias,
        query,
        keys.transpose(1, 2),
        beta=0 if bias is None else 1,
        alpha=scale,
    )
    return torch.bmm(scores.softmax(-1), values)


class Attend(nn.Module):
    """Attention inside a network: `attend`, or a fast kernel equal to it when nobody watches.

    Every softmax over keys in this package goes through this module. Inside `watching` the
    explicit formula runs and hands the weights to whoever watches. Otherwise the scaled inner
    product takes PyTorch's fused kernel, which never stores the T × S weights.
    `regard.lens.masking` sets `gates`, which scale what each head gives; without them they cost
    nothing.

    Args:
        score: how well a key answers a query.
        window: narrows the mask around each query.
        dropout: probability of dropping a weight in training. The paper drops none, and the
            fused CPU kernel needs none.
    """

    def __init__(
        self, score: Score = scaled_dot, window: Window | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.score = score
        self.window = window
        self.dropout = dropout
        self.gates: Float[Tensor, "H"] | None = None

    @property
    def is_plain_scaled_dot(self) -> bool:
        """Whether this is, in this thread and now, scaled inner products that nobody looks into."""
        is_ordinary = self.score is scaled_dot and self.window is None and self.gates is None
        return is_ordinary and self not in _watchers.get()

    def forward(
        self,
        query: Float[Tensor, "*B T Dq"],
        keys: Float[Tensor, "*B S Dk"],
        values: Float[Tensor, "*B S Dv"],
        mask: Bool[Tensor, "*#B #T S"] | None = None,
        *,
        is_causal: bool = False,
        positions: Int[Tensor, "T"] | None = None,
    ) -> Float[Tensor, "*B T Dv"]:
        """Attend from each query to the keys that the mask allows.

        Args:
            query: what is asked.
            keys: what each place offers to be found by.
            values: what each place gives.
            mask: True where a query may attend to a key; not together with `is_causal`.
            is_causal: each query sees the keys up to its own position only; for as many queries
                as keys.
            positions: where the queries stand, for a window.
        """
        output = self._attend(query, keys, values, mask, is_causal, positions)
        return output if self.gates is None else output * self.gates[:, None, None]

    def _attend(
        self,
        query: Float[Tensor, "*B T Dq"],
        keys: Float[Tensor, "*B S Dk"],
        values: Float[Tensor, "*B S Dv"],
        mask: Bool[Tensor, "*#B #T S"] | None,
        is_causal: bool,
        positions: Int[Tensor, "T"] | None,
    ) -> Float[Tensor, "*B T Dv"]:
        if is_causal:
            assert mask is None, "a causal mask and another one are not combined here"
            assert query.shape[-2] == keys.shape[-2], "the fused kernel counts from the first key"
        dropout = self.dropout if self.training else 0.0
        watcher = _watchers.get().get(self)
        needs_weights = watcher is not None or is_plain()
        if not needs_weights and self.score is scaled_dot and self.window is None:
            fused = partial(
                F.scaled_dot_product_attention,
                attn_mask=mask,
                dropout_p=dropout,
                is_causal=is_causal,
            )
            if query.device.type == "cpu" and query.dtype == torch.bfloat16:
                # Backwards, the CPU's kernel takes seven times as long in bfloat16 as in fp32.
                with torch.autocast("cpu", enabled=False):
                    return fused(query.float(), keys.float(), values.float())
            return fused(query, keys, values)
        if is_causal:
            mask = causal_mask(query.shape[-2], keys.shape[-2], query.device)
        output, weights = attend(
            query,
            keys,
            values,
            score=self.score,
            mask=mask,
            window=self.window,
            positions=positions,
        )
        if watcher is not None:
            watcher(weights)
        if dropout:
            output = F.dropout(weights, dropout) @ values
        return output


_watchers: ContextVar[Mapping[Attend, Watcher]] = ContextVar(
    "watchers", default=MappingProxyType({})
)


@contextmanager
def watching(watchers: Mapping[Attend, Watcher]) -> Iterator[None]:
    """While open, hand each watcher the weights `*B T S` of its module, one call after the other.

    In this thread alone, and without a trace on the modules, which other threads may be using.
    The weights carry their gradient.
    """
    token = _watchers.set({**_watchers.get(), **watchers})
    try:
        yield
    finally:
        _watchers.reset(token)
