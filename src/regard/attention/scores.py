"""Scores: how well a key answers a query.

A score compares every query with every key, `(*B T Dq, *B S Dk) -> *B T S`. Those without
parameters are functions, those with parameters are modules; `attend` takes either.
"""

import math
from collections.abc import Callable

import torch
from torch import nn

from regard.shapes import Float, Tensor

Score = Callable[[Tensor, Tensor], Tensor]


def dot(query: Float[Tensor, "*B T Dk"], key: Float[Tensor, "*B S Dk"]) -> Float[Tensor, "*B T S"]:
    """Inner product.

        e(q, k) = qᵀ k

    Luong, Pham & Manning 2015, under equation 7 ("dot").
    """
    return query @ key.transpose(-2, -1)


def scaled_dot(
    query: Float[Tensor, "*B T Dk"], key: Float[Tensor, "*B S Dk"]
) -> Float[Tensor, "*B T S"]:
    """Scaled inner product.

        e(q, k) = qᵀ k / √d_k

    Vaswani et al. 2017, equation 1. The inner product of two random vectors of unit variance
    has variance d_k; dividing by √d_k keeps the softmax away from its flat ends.
    """
    return dot(query / math.sqrt(query.shape[-1]), key)


def inverse_distance(
    query: Float[Tensor, "*B T Dk"], key: Float[Tensor, "*B S Dk"]
) -> Float[Tensor, "*B T S"]:
    """Closeness.

        e(q, k) = 1 / ‖q − k‖

    The lectures' weather map: a station weighs the more the nearer it stands. A key that
    coincides with the query has an infinite score; the distance is kept above 1e-6, so that
    such a key simply takes all the weight.
    """
    # The default way through ‖q‖² + ‖k‖² − 2qᵀk loses every digit of a short distance.
    distance = torch.cdist(query, key, compute_mode="donot_use_mm_for_euclid_dist")
    return distance.clamp_min(1e-6).reciprocal()


class Bilinear(nn.Module):
    """Inner product in a learned geometry, for queries and keys of different widths.

        e(q, k) = qᵀ W k

    Luong, Pham & Manning 2015, under equation 7 ("general").
    """

    def __init__(self, d_query: int, d_key: int) -> None:
        super().__init__()
        self.weight = nn.Linear(d_query, d_key, bias=False)

    def forward(
        self, query: Float[Tensor, "*B T Dq"], key: Float[Tensor, "*B S Dk"]
    ) -> Float[Tensor, "*B T S"]:
        return dot(self.weight(query), key)

    def project(self, key: Float[Tensor, "*B S Dk"]) -> Float[Tensor, "*B S Dq"]:
        """What `compare` wants of a key, W k; no query changes it."""
        return key @ self.weight.weight

    def compare(
        self, query: Float[Tensor, "*B T Dq"], projected: Float[Tensor, "*B S Dq"]
    ) -> Float[Tensor, "*B T S"]:
        """The score of keys that are already projected."""
        return dot(query, projected)


class Additive(nn.Module):
    """A small network compares query and key.

        e(q, k) = wᵀ tanh(W q + U k)

    Bahdanau, Cho & Bengio 2015, section A.1.2; Luong's "concat" is the same with W and U
    stacked. Differs: U has a bias, so that the tanh need not be centred.
    """

    def __init__(self, d_query: int, d_key: int, d_hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(d_query, d_hidden, bias=False)
        self.key = nn.Linear(d_key, d_hidden)
        self.energy = nn.Linear(d_hidden, 1, bias=False)

    def forward(
        self, query: Float[Tensor, "*B T Dq"], key: Float[Tensor, "*B S Dk"]
    ) -> Float[Tensor, "*B T S"]:
        return self.compare(query, self.project(key))

    def project(self, key: Float[Tensor, "*B S Dk"]) -> Float[Tensor, "*B S hidden"]:
        """What `compare` wants of a key, U k; no query changes it."""
        projected: Tensor = self.key(key)
        return projected

    def compare(
        self, query: Float[Tensor, "*B T Dq"], projected: Float[Tensor, "*B S hidden"]
    ) -> Float[Tensor, "*B T S"]:
        """The score of keys that are already projected."""
        hidden = self.query(query).unsqueeze(-2) + projected.unsqueeze(-3)  # *B T S hidden
        energy: Tensor = self.energy(hidden.tanh())
        return energy.squeeze(-1)


class FeedForwardScore(nn.Module):
    """A feed-forward network with two hidden layers reads query and key side by side.

        e(q, k) = wᵀ tanh(V tanh(W [q; k]))

    The lectures' general form of the additive score, "a feed-forward network trained jointly
    with the rest" (Bahdanau, Cho & Bengio 2015, section 3.1).
    """

    def __init__(self, d_query: int, d_key: int, d_hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(d_query, d_hidden, bias=False)
        self.key = nn.Linear(d_key, d_hidden)
        self.hidden = nn.Linear(d_hidden, d_hidden)
        self.energy = nn.Linear(d_hidden, 1, bias=False)

    def forward(
        self, query: Float[Tensor, "*B T Dq"], key: Float[Tensor, "*B S Dk"]
    ) -> Float[Tensor, "*B T S"]:
        first = self.query(query).unsqueeze(-2) + self.key(key).unsqueeze(-3)  # *B T S hidden
        energy: Tensor = self.energy(self.hidden(first.tanh()).tanh())
        return energy.squeeze(-1)
