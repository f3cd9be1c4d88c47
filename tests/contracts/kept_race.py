"""The race that docs/road.md tells, made from what results/road holds.

python -m tests.contracts.kept_race     rewrites it
"""

from regard.road.result import read_report
from regard.road.table import markdown
from tests.contracts.file_tree import ROOT

BEGIN, END = "<!-- race -->\n\n", "\n<!-- end of race -->\n"
PAGE = ROOT / "docs" / "road.md"


def kept_table() -> str:
    """The results, in Markdown."""
    return markdown(read_report(ROOT / "results" / "road").results)


def page_with(table: str) -> str:
    """docs/road.md with this table in the place of its own."""
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + table + END + after


if __name__ == "__main__":
    PAGE.write_text(page_with(kept_table()), "utf-8")
