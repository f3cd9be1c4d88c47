"""Two systems line by line: where they differ, and by how much."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.metrics.scorer import Scorer, check_parallel


@dataclass(frozen=True, slots=True, kw_only=True)
class LineDifference:
    """One line on which two systems differ."""

    line: int  # counted from 1, as editors do
    reference: str
    system: str
    baseline: str
    system_score: float
    baseline_score: float

    @property
    def difference(self) -> float:
        return self.system_score - self.baseline_score


def compare_lines(
    scorer: Scorer, system: Sequence[str], baseline: Sequence[str], references: Sequence[str]
) -> list[LineDifference]:
    """The lines whose translations differ, those with the largest difference first.

    Scores of single lines are noisy and do not add up to that of the corpus: they say where to
    look, not who wins.
    """
    check_parallel(system, references)
    check_parallel(baseline, references)
    found = [
        LineDifference(
            line=line,
            reference=reference,
            system=ours,
            baseline=theirs,
            system_score=scorer.score_line(ours, reference),
            baseline_score=scorer.score_line(theirs, reference),
        )
        for line, (ours, theirs, reference) in enumerate(
            zip(system, baseline, references, strict=True), start=1
        )
        if ours != theirs
    ]
    return sorted(found, key=lambda one: (-abs(one.difference), one.line))
