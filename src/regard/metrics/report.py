"""Everything that is worth saying about a system, or about two, on one test set."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.errors import DataError
from regard.metrics.bleu import bleu
from regard.metrics.chrf import chrf
from regard.metrics.compare import LineDifference, compare_lines
from regard.metrics.exact import ExactMatch
from regard.metrics.options import SAMPLES, TOKENIZE, Language, MetricName, Tokenize
from regard.metrics.paired import PairedTest, paired_bootstrap
from regard.metrics.paper import PaperBleu
from regard.metrics.scorer import Score, Scorer
from regard.metrics.ter import ter
from regard.metrics.text import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One metric's view of a system, and of a baseline if there is one."""

    score: Score
    is_error: bool
    baseline: Score | None = None
    test: PairedTest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What `regard score` prints, as data."""

    system: str
    reference: str
    num_lines: int
    rows: list[Row]
    baseline: str | None = None
    num_different_lines: int = 0
    different_lines: list[LineDifference]


def make_scorers(
    metrics: Sequence[MetricName],
    *,
    tokenize: Tokenize = TOKENIZE,
    lowercase: bool = False,
    paper_bleu: Language | None = None,
) -> list[Scorer]:
    """The scorers for some names, in that order, the papers' BLEU last if a language is given."""
    made: dict[MetricName, Scorer] = {
        "bleu": bleu(tokenize=tokenize, lowercase=lowercase),
        "chrf": chrf(lowercase=lowercase),
        "ter": ter(lowercase=lowercase),
        "exact": ExactMatch(lowercase=lowercase),
    }
    scorers = [made[name] for name in metrics]
    return scorers if paper_bleu is None else [*scorers, PaperBleu(paper_bleu)]


def make_report(
    scorers: Sequence[Scorer],
    system: Text,
    reference: Text,
    baseline: Text | None = None,
    *,
    samples: int = SAMPLES,
    num_different_lines: int = 0,
) -> Report:
    """Score a system, compare it with a baseline, and find the lines that set them apart.

    Args:
        scorers: one row each; the first also ranks the different lines.
        system: the translations in question.
        reference: what they should have been.
        baseline: translations of the same lines by another system.
        samples: bootstrap samples for intervals and tests; 0 for neither.
        num_different_lines: how many lines to show.

    Raises:
        DataError: the texts do not have equally many lines.
    """
    for text in (system, baseline):
        if text and len(text.lines) != len(reference.lines):
            raise DataError(
                f"{text.name} has {len(text.lines):,} lines, {reference.name} has "
                f"{len(reference.lines):,}; expected one translation for each line of the reference"
            )
    different = (
        compare_lines(scorers[0], system.lines, baseline.lines, reference.lines) if baseline else []
    )
    return Report(
        system=system.name,
        reference=reference.name,
        num_lines=len(reference.lines),
        rows=[_row(scorer, system, reference, baseline, samples) for scorer in scorers],
        baseline=baseline.name if baseline else None,
        num_different_lines=len(different),
        different_lines=different[:num_different_lines],
    )


def _row(
    scorer: Scorer,
    system: Text,
    reference: Text,
    baseline: Text | None,
    samples: int,
) -> Row:
    score = scorer.score(system.lines, reference.lines, samples=samples)
    if baseline is None:
        return Row(score=score, is_error=scorer.is_error)
    return Row(
        score=score,
        is_error=scorer.is_error,
        baseline=scorer.score(baseline.lines, reference.lines, samples=samples),
        test=paired_bootstrap(
            scorer, system.lines, baseline.lines, reference.lines, samples=samples
        )
        if samples
        else None,
    )
