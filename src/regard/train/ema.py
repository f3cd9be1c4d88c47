"""An exponential moving average of the weights."""

import copy
from functools import partial
from typing import Any

import torch

from regard.models.interface import Seq2Seq
from regard.train.checkpoint import model_tensors
from regard.train.cores import Cores


class MovingAverage:
    """A second model whose weights follow the first one's and forget its zigzags.

        θ̄ ← d_t θ̄ + (1 − d_t) θ_t,   d_t = min(d, (1 + t) / (10 + t))

    Polyak & Juditsky 1992 show that the mean of the iterates is a better estimate than the last
    of them; that it forgets exponentially is the "exponential smoothing" of Marian
    (Junczys-Dowmunt et al. 2018), and so is the warm-up of d_t, without which the random weights
    of the beginning would stay for 1 / (1 − d) steps. Training does not see it.

    Args:
        model: what learns; its present weights are where the average begins.
        decay: d.
        cores: who follow weights of their own each.
    """

    def __init__(self, model: Seq2Seq[Any], decay: float, cores: Cores | None = None) -> None:
        assert 0 < decay < 1, f"decay {decay}"
        self.model = copy.deepcopy(model)
        self.decay = decay
        self._cores = cores or Cores(1)
        self._averages = list(model_tensors(self.model).values())
        self._weights = list(model_tensors(model).values())

    def follow(self, step: int) -> None:
        """Take in the weights after a step; steps are counted from 1."""
        decay = min(self.decay, (1 + step) / (10 + step))
        lerp = partial(torch._foreach_lerp_, weight=1 - decay)
        self._cores.each(lerp, self._averages, self._weights)
