"""What every score of a corpus has in common, and what makes it cheap to resample."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from regard.errors import DataError
from regard.metrics.bootstrap import SEED, Interval, interval_of, resample
from regard.metrics.options import SAMPLES

Counts = Float[np.ndarray, "lines counts"]
Totals = Float[np.ndarray, " counts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A score and what a reader needs to compare it with another one.

    Attributes:
        name: the metric's, as papers write it.
        value: between 0 and 100 (TER may exceed 100).
        signature: version and every setting that changes the value; scores are comparable only
            where their signatures agree.
        interval: where 95 % of the resampled scores lie; None if nothing was resampled.
    """

    name: str
    value: float
    signature: str
    interval: Interval | None = None


class Scorer(ABC):
    """A score of a corpus that is a function of counts summed over its lines.

        score = f(Σᵢ cᵢ)

    BLEU, chrF, TER and exact match all are. A bootstrap sample is then a sum over other rows of
    the same table: the text is compared once, not once per sample.
    """

    name: str
    is_error = False  # of an error rate, less is better

    @abstractmethod
    def count(self, hypotheses: Sequence[str], references: Sequence[str]) -> Counts:
        """The counts cᵢ, one row per line.

        Raises:
            DataError: not as many hypotheses as references, or none at all.
        """

    @abstractmethod
    def value(self, totals: Totals) -> float:
        """The function f."""

    @abstractmethod
    def score_line(self, hypothesis: str, reference: str) -> float:
        """The score of one line, smoothed where that of a corpus need not be."""

    @abstractmethod
    def signature(self, samples: int = 0) -> str:
        """Everything the value depends on besides the texts, in sacreBLEU's notation."""

    def score(
        self, hypotheses: Sequence[str], references: Sequence[str], *, samples: int = SAMPLES
    ) -> Score:
        """Score a corpus.

        Args:
            hypotheses: detokenised translations, one a line.
            references: what they are compared with, line by line.
            samples: how many bootstrap samples the interval is estimated from; 0 for none.
        """
        counts = self.count(hypotheses, references)
        interval = interval_of(resample(self.value, counts, samples=samples)) if samples else None
        value = self.value(counts.sum(axis=0))
        return Score(
            name=self.name, value=value, signature=self.signature(samples), interval=interval
        )


def check_parallel(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if len(hypotheses) != len(references):
        raise DataError(
            f"{len(hypotheses):,} hypotheses for {len(references):,} references; "
            "expected one hypothesis per reference"
        )
    if not references:
        raise DataError("nothing to score: hypotheses and references are empty")


def resampling(samples: int) -> dict[str, str]:
    """The part of a signature that says how an interval was estimated."""
    return {"bs": str(samples), "seed": str(SEED)} if samples else {}
