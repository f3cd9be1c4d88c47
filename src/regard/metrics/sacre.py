"""The scores that sacreBLEU computes, seen as functions of counts."""

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics.base import Metric

from regard.metrics.scorer import Counts, Scorer, Totals, check_parallel, resampling


class SacreScorer(Scorer):
    """A metric of the sacreBLEU library (Post 2018, "A Call for Clarity in Reporting BLEU Scores").

    Per-line counts have no public name in sacreBLEU; its own significance tests reach for the
    same two methods as `count` and `value` do here.
    """

    def __init__(
        self, name: str, corpus: Metric, sentence: Metric | None = None, *, is_error: bool = False
    ) -> None:
        self.name = name
        self.is_error = is_error
        self._corpus = corpus
        self._sentence = sentence or corpus

    def count(self, hypotheses: Sequence[str], references: Sequence[str]) -> Counts:
        check_parallel(hypotheses, references)
        rows = self._corpus._extract_corpus_statistics(hypotheses, [references])
        return np.array(rows, dtype=np.float64)

    def value(self, totals: Totals) -> float:
        return float(self._corpus._compute_score_from_stats(list(totals)).score)

    def score_line(self, hypothesis: str, reference: str) -> float:
        return float(self._sentence.sentence_score(hypothesis, [reference]).score)

    def signature(self, samples: int = 0) -> str:
        self._corpus.num_refs = 1  # sacreBLEU learns it only while scoring
        signature = self._corpus.get_signature()
        for key, setting in resampling(samples).items():
            signature.update(key, setting)
        return str(signature)
