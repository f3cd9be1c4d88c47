"""A mixture of experts: many feed-forward networks, of which each position visits a few."""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from regard.errors import ConfigError
from regard.native.linear import linear
from regard.nn.dropout import Dropout, own_generator
from regard.nn.feed_forward import ACTIVATIONS, Activation
from regard.nn.penalty import add_penalty
from regard.shapes import Bool, Float, Int, Tensor


def check_experts(experts: int, top_k: int) -> None:
    """Refuse a run file by which a position would visit more experts than there are.

    Raises:
        ConfigError: it would.
    """
    if top_k > experts:
        raise ConfigError(
            f"model.experts_top_k = {top_k} is more than model.experts = {experts}; try {experts}"
        )


class Chosen(NamedTuple):
    """Which experts each position visits.

    Attributes:
        experts: their numbers.
        gates: how much each counts; a position's sum to one.
        load: how many positions each expert expects, in a smooth estimate.
    """

    experts: Int[Tensor, "M k"]
    gates: Float[Tensor, "M k"]
    load: Float[Tensor, "E"]


class NoisyTopK(nn.Module):
    """The gate: a softmax over the k best of noisy scores.

        G(x) = softmax(KeepTopK(H(x), k))                                              (3), (5)
        H(x)_i = (x W_g)_i + ε_i · softplus((x W_noise)_i),   ε_i ~ N(0, 1)            (4)

    Shazeer et al. 2017, section 2.1; both matrices start at zero (appendix A). How many
    positions an expert gets is a count, which has no gradient; in its place stands the chance
    that an expert is chosen if its own noise is drawn again,

        P(x, i) = Φ(((x W_g)_i − kth_excluding(H(x), k, i)) / softplus((x W_noise)_i))   (8), (9)
        Load_i = Σ_x P(x, i)                                                           (10)

    Without noise, at inference, it is the count. Sums over positions need more than the eight bits
    of bfloat16, so the gate is computed in fp32 whatever the layers around it are.

    Args:
        d_model: width of x.
        num_experts: how many there are to choose from.
        top_k: how many are chosen.
    """

    def __init__(self, d_model: int, num_experts: int, top_k: int) -> None:
        super().__init__()
        assert 0 < top_k <= num_experts, f"{top_k} of {num_experts} experts"
        self.top_k = top_k
        self.score = nn.Linear(d_model, num_experts, bias=False)
        self.noise = nn.Linear(d_model, num_experts, bias=False)
        nn.init.zeros_(self.score.weight)
        nn.init.zeros_(self.noise.weight)

    def forward(self, x: Float[Tensor, "M D"]) -> Chosen:
        with torch.autocast(x.device.type, enabled=False):
            return self._choose(x.to(torch.promote_types(x.dtype, torch.float32)))

    def _choose(self, x: Float[Tensor, "M D"]) -> Chosen:
        clean = self.score(x)  # M E
        noisy, spread = clean, None
        if self.training:
            spread = F.softplus(self.noise(x))
            drawn = torch.empty_like(clean).normal_(generator=own_generator())
            noisy = clean + drawn * spread
        # One more than are chosen: the first that is not is what a chosen one must beat.
        best, experts = noisy.topk(min(self.top_k + 1, noisy.shape[1]))
        chosen = experts[:, : self.top_k]
        gates = best[:, : self.top_k].softmax(-1)
        if spread is None or self.top_k == noisy.shape[1]:
            load = torch.bincount(chosen.flatten(), minlength=noisy.shape[1]).to(clean.dtype)
        else:
            load = _chance_to_be_chosen(clean, noisy, spread, best).sum(0)
        return Chosen(chosen, gates, load)


def _chance_to_be_chosen(
    clean: Float[Tensor, "M E"],
    noisy: Float[Tensor, "M E"],
    spread: Float[Tensor, "M E"],
    best: Float[Tensor, "M k_and_1"],
) -> Float[Tensor, "M E"]:
    """P(x, i), equations 8 and 9.

    The k-th best of the others is the (k + 1)-th of all if i was chosen, and the k-th if not.
    """
    if_chosen, if_not = best[:, -1:], best[:, -2:-1]
    to_beat = torch.where(noisy > if_chosen, if_chosen, if_not)
    return 0.5 * (1 + torch.erf((clean - to_beat) / spread / math.sqrt(2)))


def squared_variation(x: Float[Tensor, "E"]) -> Float[Tensor, ""]:
    """The square of the coefficient of variation, CV(x)² = Var(x) / Mean(x)²."""
    return x.var(correction=0) / x.mean().square()


class MixtureOfExperts(nn.Module):
    """Feed-forward networks side by side, of which each position visits the k that a gate chose.

        y = Σ_i G(x)_i E_i(x)                                                 (1)
        E_i(x) = max(0, x W_i1 + b_i1) W_i2 + b_i2

    Shazeer et al. 2017, section 2. In training it hands in a penalty (`regard.nn.penalty`) that
    keeps experts equally busy, section 4,

        w · CV(Σ_x G(x))² + w · CV(Load)²                                     (6) – (11)

    Only chosen experts are computed, each on its positions together. Differs: balance is asked
    of the positions that run through the layer at a time, which may be a part of a batch.

    Args:
        d_model: width of input and output.
        d_hidden: width inside an expert.
        num_experts: how many there are.
        top_k: how many a position visits.
        balance: w, the weight of both balancing losses.
        activation: what stands between an expert's two layers; the paper's is ReLU.
        dropout: probability of dropping a hidden unit.
    """

    def __init__(
        self,
        d_model: int,
        d_hidden: int,
        num_experts: int,
        top_k: int,
        *,
        balance: float = 0.0,
        activation: Activation = "relu",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.balance = balance
        self.gate = NoisyTopK(d_model, num_experts, top_k)
        # One tensor for all experts: in a batch that one of them never sees its gradient is zero,
        # and not missing.
        self.inner = nn.Parameter(torch.empty(num_experts, d_hidden, d_model))
        self.inner_bias = nn.Parameter(torch.zeros(num_experts, d_hidden))
        self.outer = nn.Parameter(torch.empty(num_experts, d_model, d_hidden))
        self.outer_bias = nn.Parameter(torch.zeros(num_experts, d_model))
        self.activation = ACTIVATIONS[activation]
        self.dropout = Dropout(dropout)
        for weight in (*self.inner, *self.outer):
            nn.init.xavier_uniform_(weight)

    def forward(
        self, x: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T D"]:
        """Let each real position visit its experts; padding visits none and gives zeros."""
        real = x.flatten(0, 1) if mask is None else x[mask]  # M D
        chosen = self.gate(real)
        if self.training:
            add_penalty(self._imbalance(chosen))
        y = self._visit(real, chosen)
        if mask is None:
            return y.view_as(x)
        return y.new_zeros(x.shape).masked_scatter(mask.unsqueeze(-1), y)

    def _visit(self, x: Float[Tensor, "M D"], chosen: Chosen) -> Float[Tensor, "M D"]:
        visits = chosen.experts.flatten()  # visit v is that of position v // k
        order = visits.argsort(stable=True)  # the visits of one expert stand together
        position = order.div(chosen.experts.shape[1], rounding_mode="floor")
        sizes = torch.bincount(visits, minlength=len(self.inner)).tolist()
        parameters = (self.inner, self.inner_bias, self.outer, self.outer_bias)
        experts = zip(*(parameter.unbind() for parameter in parameters), strict=True)
        answers = [
            linear(self.dropout(self.activation(linear(visitors, w1, b1))), w2, b2)
            for visitors, (w1, b1, w2, b2) in zip(x[position].split(sizes), experts, strict=True)
            if len(visitors)
        ]
        weighted = torch.cat(answers) * chosen.gates.flatten()[order].unsqueeze(-1)
        return weighted.new_zeros(x.shape).index_add(0, position, weighted)

    def _imbalance(self, chosen: Chosen) -> Float[Tensor, ""]:
        importance = chosen.load.new_zeros(len(self.inner)).index_add(
            0, chosen.experts.flatten(), chosen.gates.flatten()
        )
        return self.balance * (squared_variation(importance) + squared_variation(chosen.load))
