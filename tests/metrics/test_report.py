"""What is said about one system or two."""

import io

import pytest
from rich.console import Console

from regard.errors import DataError
from regard.metrics.bootstrap import Interval
from regard.metrics.paired import PairedTest
from regard.metrics.report import Row, make_report, make_scorers
from regard.metrics.scorer import Score
from regard.metrics.show import show_report, verdict
from regard.metrics.text import Text

REFERENCE = Text("ref", ["a b c d e", "f g h i j [x]", "k l m n o"] * 20)
SYSTEM = Text("sys", ["a b c d e", "f g h i j [x]", "k l x n o"] * 20)
BASELINE = Text("base", ["a b c d e", "x x x x x", "k l m n o"] * 20)


def shown(report_width: int = 80, *, samples: int = 50, lines: int = 0) -> str:
    report = make_report(
        make_scorers(["bleu", "chrf"], paper_bleu="en"),
        SYSTEM,
        REFERENCE,
        BASELINE,
        samples=samples,
        num_different_lines=lines,
    )
    console = Console(file=io.StringIO(), width=report_width)
    show_report(report, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_scorers_come_in_the_order_of_their_names() -> None:
    scorers = make_scorers(["exact", "ter", "chrf", "bleu"], paper_bleu="de")
    names = [scorer.name for scorer in scorers]
    assert names == ["exact match", "TER", "chrF2", "BLEU", "papers' BLEU"]


def test_every_scorer_has_a_row_with_its_score() -> None:
    scorers = make_scorers(["bleu", "chrf", "ter", "exact"], paper_bleu="en")
    report = make_report(scorers, SYSTEM, REFERENCE, samples=10)
    expected = [scorer.score(SYSTEM.lines, REFERENCE.lines, samples=10) for scorer in scorers]
    assert [row.score for row in report.rows] == expected


def test_nothing_is_tested_without_a_baseline() -> None:
    report = make_report(make_scorers(["bleu"]), SYSTEM, REFERENCE, samples=10)
    assert (report.rows[0].baseline, report.rows[0].test) == (None, None)


def test_nothing_is_tested_without_samples() -> None:
    report = make_report(make_scorers(["bleu"]), SYSTEM, REFERENCE, BASELINE, samples=0)
    assert report.rows[0].test is None


def test_all_different_lines_are_counted_and_some_are_kept() -> None:
    report = make_report(
        make_scorers(["bleu"]), SYSTEM, REFERENCE, BASELINE, samples=0, num_different_lines=1
    )
    assert (report.num_different_lines, [one.line for one in report.different_lines]) == (40, [2])


@pytest.mark.parametrize("which", ["system", "baseline"])
def test_unequal_numbers_of_lines_are_an_error(which: str) -> None:
    texts = {"system": SYSTEM, "baseline": BASELINE}
    texts[which] = Text("short.de", ["a"] * 1234)
    message = "short.de has 1,234 lines, ref has 60; expected one translation for each line"
    with pytest.raises(DataError, match=message):
        make_report(make_scorers(["bleu"]), texts["system"], REFERENCE, texts["baseline"])


@pytest.mark.parametrize(
    ("difference", "p_value", "is_error", "said"),
    [
        (2.0, 0.01, False, "significantly better than the baseline"),
        (-2.0, 0.01, False, "significantly worse than the baseline"),
        (2.0, 0.01, True, "significantly worse than the baseline"),
        (-2.0, 0.01, True, "significantly better than the baseline"),
        (2.0, 0.05, False, "no significant difference"),
        (-2.0, 0.012, False, "would differ by 2.00 or more in only 1.2% of such test sets"),
    ],
)
def test_the_verdict_says_what_the_p_value_means(
    difference: float, p_value: float, is_error: bool, said: str
) -> None:
    interval = Interval(mean=difference, low=difference - 1, high=difference + 1)
    test = PairedTest(difference=difference, interval=interval, p_value=p_value)
    score = Score(name="BLEU", value=30.0, signature="")
    assert said in verdict(Row(score=score, is_error=is_error, baseline=score, test=test))


def test_a_table_of_two_systems_fits_a_terminal() -> None:
    table = [line for line in shown().splitlines() if line.startswith("│")]
    assert len(table) == 3
    assert max(map(len, table)) <= 80


def test_signatures_are_printed_in_one_piece() -> None:
    scorers = make_scorers(["bleu", "chrf"], paper_bleu="en")
    signatures = [f"{scorer.name}|{scorer.signature(50)}" for scorer in scorers]
    assert shown().splitlines()[-3:] == signatures


def test_brackets_in_a_translation_are_printed_as_they_are() -> None:
    assert "  system     f g h i j [x]\n" in shown(lines=1)
