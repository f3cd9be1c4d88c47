"""What is told of an iteration of EM."""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Iteration:
    """One pass over the corpus.

    Attributes:
        model: which model is being trained.
        number: counted from 1.
        total: how many there will be.
        log_likelihood: log p(targets | sources) under the parameters the pass began with.
        perplexity: the same per target word, exp(−log p / words).
    """

    model: str
    number: int
    total: int
    log_likelihood: float
    num_words: int

    @property
    def perplexity(self) -> float:
        return math.exp(-self.log_likelihood / self.num_words)


Progress = Callable[[Iteration], None]


def say_nothing(iteration: Iteration) -> None:
    """The progress of whoever does not want to know."""
