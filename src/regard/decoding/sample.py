"""Sampling: a token drawn from the model's distribution, again and again."""

from collections.abc import Sequence

import numpy as np
import torch

from regard.decoding.hypothesis import Hypothesis
from regard.decoding.penalty import no_penalty
from regard.decoding.request import Request, Specials
from regard.decoding.rollout import roll_out
from regard.decoding.stepper import Stepper
from regard.shapes import Float, Int, Tensor


def narrow(
    log_probs: Float[Tensor, "R V"], temperature: float, top_k: int, top_p: float
) -> Float[Tensor, "R V"]:
    """The distribution to draw from.

        p'(y) ∝ p(y)^{1/temperature}

    over the k most probable tokens (Fan et al. 2018), and of those over the fewest whose mass
    reaches top_p (Holtzman et al. 2020).
    """
    probs = (log_probs / temperature).softmax(-1)
    if top_k:
        least = probs.topk(min(top_k, probs.shape[-1])).values[:, -1:]
        probs = probs.masked_fill(probs < least, 0.0)
        probs = probs / probs.sum(-1, keepdim=True)
    if top_p < 1.0:
        ordered, index = probs.sort(stable=True, descending=True)
        mass_before = ordered.cumsum(-1) - ordered
        is_beyond = torch.zeros_like(probs, dtype=torch.bool)
        is_beyond.scatter_(-1, index, mass_before >= top_p)
        probs = probs.masked_fill(is_beyond, 0.0)
        probs = probs / probs.sum(-1, keepdim=True)
    return probs


def sample(
    stepper: Stepper,
    request: Request,
    specials: Specials,
    *,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    seed: int = 1,
) -> list[Hypothesis]:
    """Draw every token from the narrowed distribution.

    Each sentence has a stream of random numbers of its own, a function of the seed and the
    sentence's number in the job: its sample does not depend on the batch it stands in.
    """
    streams = [np.random.Generator(np.random.Philox(key=[seed, n])) for n in request.numbers]

    def draw(
        log_probs: Float[Tensor, "R V"], sentences: Sequence[int], step: int
    ) -> Int[Tensor, "R"]:
        cumulative = narrow(log_probs, temperature, top_k, top_p).double().cumsum(-1)
        uniform = torch.tensor([[streams[s].random()] for s in sentences], dtype=torch.float64)
        # The first token whose cumulative mass exceeds u; the total may be a hair below 1.
        threshold = uniform.to(cumulative) * cumulative[:, -1:]
        found = torch.searchsorted(cumulative, threshold, right=True).squeeze(1)
        return found.clamp_(max=cumulative.shape[1] - 1)  # beyond the last where all are NaN

    return roll_out(stepper, request, specials, no_penalty, draw)
