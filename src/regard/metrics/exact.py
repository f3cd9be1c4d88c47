"""Exact match: the share of lines that are right to the last character."""

from collections.abc import Sequence

import numpy as np

from regard.metrics.scorer import Counts, Scorer, Totals, check_parallel, resampling


class ExactMatch(Scorer):
    """The percentage of hypotheses that equal their reference.

    Hardly a measure of translation, but the right one for tasks with one answer: copying,
    reversing, sorting, a grammar with one translation per sentence.
    """

    name = "exact match"

    def __init__(self, *, lowercase: bool = False) -> None:
        self._lowercase = lowercase

    def count(self, hypotheses: Sequence[str], references: Sequence[str]) -> Counts:
        check_parallel(hypotheses, references)
        pairs = zip(hypotheses, references, strict=True)
        return np.array([[self._is_equal(*pair), 1] for pair in pairs], dtype=np.float64)

    def value(self, totals: Totals) -> float:
        num_equal, num_lines = totals
        return float(100 * num_equal / num_lines)

    def score_line(self, hypothesis: str, reference: str) -> float:
        return 100.0 * self._is_equal(hypothesis, reference)

    def signature(self, samples: int = 0) -> str:
        settings = {"nrefs": "1", **resampling(samples), "case": "mixed"}
        if self._lowercase:
            settings["case"] = "lc"
        return "|".join(f"{key}:{setting}" for key, setting in settings.items())

    def _is_equal(self, hypothesis: str, reference: str) -> bool:
        if self._lowercase:
            return hypothesis.lower() == reference.lower()
        return hypothesis == reference
