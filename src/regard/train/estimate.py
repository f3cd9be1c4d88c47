"""What a training will take, measured on a few steps that leave no trace."""

import time
from dataclasses import dataclass
from itertools import islice

import torch

from regard.machine import peak_memory
from regard.train.trainer import Trainer

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


def estimate(trainer: Trainer) -> Estimate:
    """Let a trainer compute the gradients of its first few batches, as it will, and forget them.

    The first is not timed. Adam keeps two more numbers a parameter, a moving average one, which
    are added to the memory. Weights, statistics and the random state are as they were.
    """
    model, config = trainer.model, trainer.config
    before = [buffer.clone() for buffer in model.buffers()]
    elapsed = []
    device = model.output.weight.device
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        for batch in islice(trainer.batches.epoch(0), NUM_BATCHES):
            started = time.perf_counter()
            trainer.learn([batch])
            elapsed.append(time.perf_counter() - started)
    trainer.optimiser.zero_grad()
    for buffer, old in zip(model.buffers(), before, strict=True):
        buffer.copy_(old)
    timed = elapsed[1:] or elapsed
    per_batch = sum(timed) / len(timed)
    kept = (2 + (config.ema > 0)) * 4 * model.num_parameters()
    return Estimate(per_batch * config.accumulate * config.steps, peak_memory() + kept)
