"""A race as a table, in a terminal and in Markdown."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from regard.lens.published import Published
from regard.road.result import Result
from regard.road.systems import SYSTEMS

COLUMNS = (
    "system",
    "BLEU",
    "parameters",
    "FLOPs by formula",
    "FLOPs the paper's way",
    "minutes",
    "tokens/s",
    "words/s written",
    "in the paper: en-de",
    "en-fr",
    "FLOPs",
)
NONE = "–"

Grid = Sequence[tuple[str, ...]]
"""A heading, then rows."""


def rows(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """One row a system, in the order given; a dash where there is nothing to say."""
    published = {system.name: system.published for system in SYSTEMS}
    return [_row(result, published.get(result.system)) for result in results]


def _row(result: Result, paper: Published | None) -> tuple[str, ...]:
    return (
        result.title,
        f"{result.bleu:.1f} ± {(result.high - result.low) / 2:.1f}",
        f"{result.parameters:,}",
        power(result.flops),
        power(result.flops_by_time),
        f"{result.minutes:.0f}" if result.minutes >= 1 else f"{result.minutes:.1f}",
        f"{result.tokens_per_second:,.0f}" if result.tokens_per_second else NONE,
        f"{result.decoded_per_second:,.0f}",
        *_paper(paper),
    )


def _paper(row: Published | None) -> tuple[str, str, str]:
    if row is None:
        return NONE, NONE, NONE
    german, french = (NONE if bleu is None else f"{bleu:g}" for bleu in (row.en_de, row.en_fr))
    return german, french, power(row.flops or 0.0)


def terminal_table(results: Sequence[Result]) -> Table:
    """For a terminal: what fits, the rest is in `markdown`."""
    grid = [("system", "BLEU", "param.", "FLOPs", "min", "tokens/s", "words/s")]
    for result, row in zip(results, rows(results), strict=True):
        title, bleu, _, flops, _, minutes, learned, written, *_ = row
        size = f"{result.parameters / 1e6:.1f} M"
        grid.append((title, bleu, size, flops, minutes, learned, written))
    table = terminal_of(grid, "The road")
    table.caption = machines(results)
    return table


def markdown(results: Sequence[Result]) -> str:
    """For a page: the table, what was trained where, and what each made of the one sentence."""
    parts = [markdown_of([COLUMNS, *rows(results)]), machines(results), one_sentence(results)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def one_sentence(results: Sequence[Result]) -> str:
    """The sentence that every system was shown on, and what each wrote; for a page."""
    if not results:
        return ""
    grid = [("", results[0].sentence), *((each.title, each.translation) for each in results)]
    escaped = [tuple(text.replace("|", r"\|") for text in row) for row in grid]
    return markdown_of(escaped, is_text=True)


def machines(results: Sequence[Result]) -> str:
    """Which processor trained what, where a race has moved; empty where it has not."""
    trained: dict[str, list[str]] = {}
    for result in results:
        trained.setdefault(result.processor, []).append(result.system)
    if len(trained) < 2:
        return ""
    parts = [f"on {processor}: {', '.join(names)}" for processor, names in trained.items()]
    told = f"Trained {'; '.join(parts)}."
    return f"{told} Minutes do not compare between processors, FLOPs by formula do."


def markdown_of(grid: Grid, *, is_text: bool = False) -> str:
    """Any table for a page: names at the left, numbers at the right, or text at the left."""
    heading, *body = grid
    lines = [heading, ("---", *("---" if is_text else "---:",) * (len(heading) - 1)), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def terminal_of(grid: Grid, title: str) -> Table:
    """Any table for a terminal."""
    heading, *body = grid
    table = Table(title=title, box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column(heading[0], overflow="fold")
    for column in heading[1:]:
        table.add_column(column, justify="right", no_wrap=True)
    for row in body:
        table.add_row(*row)
    return table


def power(value: float, digits: int = 1) -> str:
    """3.3e+18 as 3.3 · 10¹⁸."""
    if not value:
        return NONE
    leading, _, exponent = f"{value:.{digits}e}".partition("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{leading} · 10{raised}"
