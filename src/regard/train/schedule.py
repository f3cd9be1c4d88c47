"""Learning-rate schedules: the rate as a function of the step."""

import math
from typing import Literal

ScheduleKind = Literal["inverse_sqrt", "cosine", "constant"]


def learning_rate(kind: ScheduleKind, step: int, *, peak: float, warmup: int, total: int) -> float:
    """The rate of step 1, 2, 3 …: a straight climb to the peak, then a way down.

        inverse_sqrt:  peak · min(step / warmup, √(warmup / step))
        cosine:        peak · ½ (1 + cos(π · (step − warmup) / (total − warmup)))
        constant:      peak

    `total` is the number of the last step, or what it is expected to be where time decides.
    The first is Vaswani et al. 2017, equation 3, whose peak is 1/√(d_model · warmup); the
    second Loshchilov & Hutter 2017 without restarts.
    """
    if step < warmup:
        return peak * step / warmup
    if kind == "inverse_sqrt":
        return peak * math.sqrt(max(warmup, 1) / step)
    if kind == "cosine":
        done = min((step - warmup) / max(total - warmup, 1), 1.0)
        return peak * 0.5 * (1 + math.cos(math.pi * done))
    return peak
