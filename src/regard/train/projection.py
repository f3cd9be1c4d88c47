"""The output layer inside a fused loss: logits a chunk at a time, and gradients along with them.

    z = h Wᵀ + b

The logits z of a batch fill more memory than the rest of a step together. A fused loss makes them
for a hundred states or so at a time and turns them into their own gradient in place. Products are
taken in the precision of the states, bfloat16 where that is faster; sums are kept in the weight's.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from regard.native import kernels
from regard.native.linear import can_multiply
from regard.native.outer import sum_outer_products
from regard.native.workspace import pack, workspace_of
from regard.shapes import Float, Tensor


class Normalised(NamedTuple):
    """A softmax over logits, and log Σ exp of each row."""

    probs: Float[Tensor, "N V"]
    log_sum: Float[Tensor, "N 1"]


def normalise_(logits: Float[Tensor, "N V"]) -> Normalised:
    """Turn logits into probabilities, in their place.

    One exponential serves both: log Σ exp z = max z − log max p, where max p is the one
    probability that cannot have become 0. A kernel keeps the sum.
    """
    if kernels.can_take(logits):
        return Normalised(logits, kernels.softmax_(logits))
    highest = logits.amax(1, keepdim=True)
    probs = torch.softmax(logits, 1, out=logits)
    return Normalised(probs, highest - probs.amax(1, keepdim=True).log_())


class Projection:
    """The layer z = h Wᵀ + b, asked for the logits of one chunk of states after the other.

    Label smoothing gives every token k the same mass. That takes no pass over the logits: their
    mean is the product with the mean weight, and the gradient −u/V adds one vector to every row.

    Args:
        hidden: all the states that will come.
        weight: W.
        bias: b.
        uniform: u, the mass that each state's loss gives to all tokens alike.
        is_learning: whether gradients are wanted.
    """

    d_weight: Float[Tensor, "V D"] | None = None
    d_bias: Float[Tensor, "V"] | None = None

    def __init__(
        self,
        hidden: Float[Tensor, "*N D"],
        weight: Float[Tensor, "V D"],
        bias: Float[Tensor, "V"] | None,
        uniform: float,
        *,
        is_learning: bool,
    ) -> None:
        self._is_low = hidden.dtype == torch.bfloat16
        is_packed = can_multiply(hidden, weight, is_low=self._is_low)
        self._factor = weight if is_packed else weight.to(hidden.dtype)
        self._forwards = pack([weight], is_low=self._is_low) if is_packed else None
        self._back = (
            pack([weight], is_turned=True, is_low=self._is_low)
            if is_packed and is_learning
            else None
        )
        self._bias = bias
        self._mean_weight = weight.mean(0)
        self._mean_bias = 0.0 if bias is None else bias.mean()
        self._uniform = uniform
        if is_learning:
            states = hidden.flatten(0, -2)
            share = -uniform / len(weight)
            total = share * states.sum(0, dtype=weight.dtype)
            self.d_weight = total.expand_as(weight).contiguous()
            self.d_bias = None if bias is None else torch.full_like(bias, share * len(states))

    def logits_(
        self, states: Float[Tensor, "N D"], out: Float[Tensor, "N V"]
    ) -> Float[Tensor, "N V"]:
        """Fill `out` with the logits of a chunk."""
        if self._forwards is not None:
            self._forwards(states.float(), out)
        elif states.dtype == out.dtype:
            torch.mm(states, self._factor.T, out=out)
        else:
            out.copy_(states @ self._factor.T)
        return out if self._bias is None else out.add_(self._bias)

    def mean_logit(self, states: Float[Tensor, "N D"]) -> Float[Tensor, "N 1"]:
        """The mean of each state's logits over all tokens."""
        mean = states.to(self._mean_weight.dtype) @ self._mean_weight + self._mean_bias
        return mean.unsqueeze(1)

    def learn(
        self, states: Float[Tensor, "N D"], gradient: Float[Tensor, "N V"]
    ) -> Float[Tensor, "N D"]:
        """Count what a chunk's ∂loss/∂z, but for −u/V, teaches the layer; return ∂loss/∂states."""
        assert self.d_weight is not None, "gradients were not asked for"
        if self.d_bias is not None:
            self.d_bias += gradient.sum(0)
        if self._back is not None:
            sum_outer_products(gradient, states.float(), self.d_weight, is_low=self._is_low)
            return self._back(gradient).sub_(self._uniform * self._mean_weight)
        low = gradient.to(states.dtype)
        if low.dtype == self.d_weight.dtype:
            self.d_weight.addmm_(low.T, states)
        else:
            self.d_weight += low.T @ states
        return (low @ self._factor).sub_(self._uniform * self._mean_weight)


def with_gradients(
    value: Float[Tensor, ""],
    inputs: Sequence[Tensor | None],
    gradients: Sequence[Tensor | None],
) -> Float[Tensor, ""]:
    """The value, as a function of inputs whose gradients were found together with it."""
    found: Tensor = _WithGradients.apply(value, *inputs, *gradients)  # type: ignore[no-untyped-call]
    return found


class _WithGradients(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, *inputs_and_gradients: Tensor | None) -> Tensor:
        number = len(inputs_and_gradients) // 2
        inputs, gradients = inputs_and_gradients[:number], inputs_and_gradients[number:]
        ctx.parameters = [x if x is not None and x.is_leaf else None for x in inputs]
        ctx.save_for_backward(*gradients)
        return value.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        pairs = zip(ctx.parameters, ctx.saved_tensors, strict=True)
        found = [None if g is None else _times(g, outer, parameter) for parameter, g in pairs]
        return None, *found, *([None] * len(found))


def _times(gradient: Tensor, outer: Tensor, parameter: Tensor | None) -> Tensor | None:
    """The gradient times what stands outside of it; None if it went into a workspace."""
    workspace = None if parameter is None else workspace_of(parameter)
    if workspace is None or parameter is None:
        return gradient * outer
    total = workspace.sum_of(parameter)
    if total is None:
        workspace.keep(gradient * outer, parameter)
    else:
        total.add_(gradient, alpha=float(outer))
    return None
