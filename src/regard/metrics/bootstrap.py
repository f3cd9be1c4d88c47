"""Bootstrap: how far a score would move on another test set of the same kind."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

SEED = 12345  # sacreBLEU's, so that its intervals and ours are the same numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """The range in which 95 % of the bootstrap samples lie."""

    mean: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """The ± of a table."""
        return (self.high - self.low) / 2


def interval_of(values: Float[np.ndarray, " samples"]) -> Interval:
    """Cut a fortieth of the samples off either end."""
    ordered = np.sort(values)
    cut = len(ordered) // 40
    return Interval(
        mean=float(ordered.mean()), low=float(ordered[cut]), high=float(ordered[-1 - cut])
    )


def resample(
    value: Callable[[Float[np.ndarray, " counts"]], float],
    counts: Float[np.ndarray, "lines counts"],
    *,
    samples: int,
) -> Float[np.ndarray, " samples"]:
    """The scores of test sets drawn, with replacement, from the lines of this one.

    Efron 1979; for translation Koehn 2004, "Statistical Significance Tests for Machine
    Translation Evaluation". Two calls with equally many lines draw the same lines.
    """
    scores = (value(counts[lines].sum(axis=0)) for lines in draws(len(counts), samples))
    return np.fromiter(scores, dtype=np.float64, count=samples)


def draws(num_lines: int, samples: int) -> Iterator[Int[np.ndarray, " lines"]]:
    generator = np.random.default_rng(SEED)
    return (generator.choice(num_lines, size=num_lines) for _ in range(samples))
