"""What a training will take, measured on a few steps that leave no trace."""

import copy
import time
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch

from regard.data.batching import Batches
from regard.machine import peak_memory
from regard.models.interface import Seq2Seq
from regard.train.config import TrainConfig
from regard.train.objective import batch_loss

NUM_BATCHES = 3


@dataclass(frozen=True, slots=True)
class Estimate:
    """What to expect of a training on this machine as busy as it is now.

    Attributes:
        seconds: for all steps, validations apart.
        memory: peak of the whole process in bytes.
    """

    seconds: float
    memory: int


def estimate(model: Seq2Seq[Any], batches: Batches, config: TrainConfig) -> Estimate:
    """Run a copy of the model forwards and backwards on the first few batches.

    The first is not timed. Adam keeps two more numbers a parameter, a moving average one, which
    are added to the memory. Neither the model nor the random state is touched.
    """
    trial = copy.deepcopy(model).train()
    elapsed = []
    device = model.output.weight.device
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        for batch in islice(batches.epoch(0), NUM_BATCHES):
            started = time.perf_counter()
            batch_loss(trial, batch, config.label_smoothing, config.r_drop).smoothed.backward()
            elapsed.append(time.perf_counter() - started)
    timed = elapsed[1:] or elapsed
    per_batch = sum(timed) / len(timed)
    kept = (2 + (config.ema > 0)) * 4 * model.num_parameters()
    return Estimate(per_batch * config.accumulate * config.steps, peak_memory() + kept)
