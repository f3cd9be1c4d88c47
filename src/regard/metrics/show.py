"""A report for people: a table, what its numbers mean, and the signatures below."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.metrics.report import Report, Row
from regard.metrics.scorer import Score

SIGNIFICANT = 0.05


def show_report(report: Report, console: Console) -> None:
    """Print a report; long lines are left to the terminal, so that they can be copied."""

    def say(line: str, style: str = "") -> None:
        console.print(Text(line, style=style), soft_wrap=True)

    say(f"{report.system} against {report.reference}, {report.num_lines:,} lines")
    console.print(make_table(report))
    for row in report.rows:
        if row.test is not None:
            say(verdict(row))
    if report.baseline is not None:
        say(f"{report.num_different_lines:,} lines differ from {report.baseline}.")
    for line in report.different_lines:
        say(f"\nline {line.line:,}: {line.system_score:.1f} against {line.baseline_score:.1f}")
        say(f"  reference  {line.reference}")
        say(f"  system     {line.system}")
        say(f"  baseline   {line.baseline}")
    for row in report.rows:
        say(f"{row.score.name}|{row.score.signature}", style="dim")


def make_table(report: Report) -> Table:
    headings = ["score"] if report.baseline is None else ["system", "baseline", "difference", "p"]
    table = Table("metric")
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in report.rows:
        cells = [_with_interval(row.score)]
        if row.baseline is not None:
            cells += [_with_interval(row.baseline), _difference(row, row.baseline)]
            cells += [f"{row.test.p_value:.3f}" if row.test else ""]
        table.add_row(row.score.name, *cells)
    return table


def verdict(row: Row) -> str:
    """One sentence on what the p-value of a row means."""
    assert row.test is not None, "nothing was tested"
    name, difference, p = row.score.name, row.test.difference, row.test.p_value
    chance = f"two equally good systems would differ by {abs(difference):.2f} or more in"
    if p >= SIGNIFICANT:
        return f"{name}: no significant difference; {chance} {p:.1%} of such test sets."
    is_better = (difference > 0) != row.is_error
    return (
        f"{name}: the system is significantly {'better' if is_better else 'worse'} than the "
        f"baseline; {chance} only {p:.1%} of such test sets."
    )


def _with_interval(score: Score) -> str:
    interval = "" if score.interval is None else f" ± {score.interval.half_width:.2f}"
    return f"{score.value:.2f}{interval}"


def _difference(row: Row, baseline: Score) -> str:
    interval = row.test.interval if row.test else None
    between = "" if interval is None else f" ({interval.low:+.1f} … {interval.high:+.1f})"
    return f"{row.score.value - baseline.value:+.2f}{between}"
