"""The sixty sentences of docs/models.md are what the models of the package make of them."""

import re

import pytest

import regard
from tests.contracts.file_tree import ROOT

PAGE = (ROOT / "docs" / "models.md").read_text("utf-8")
# Another processor rounds otherwise, which may turn a translation that hung in the balance.
MAY_DIFFER = 2


def rows(heading: str) -> list[tuple[str, str]]:
    """The sentences of a table and their translations, without the remarks."""
    table = PAGE.split(f"| {heading} |")[1].partition("\n\n")[0]
    return re.findall(r"^\| (?!---)(.+?) \| (.+?) \|", table, re.MULTILINE)


@pytest.mark.parametrize(
    ("model", "heading"),
    [
        ("fr-en", "French | `regard translate`"),
        ("en-fr", "English | `regard translate --to fr`"),
    ],
)
def test_the_translations_of_the_page_are_those_of_the_package(model: str, heading: str) -> None:
    told = rows(heading)
    found = regard.load(model, device="cpu").translate([source for source, _ in told])
    differing = [
        (source, translation, now.text)
        for (source, translation), now in zip(told, found, strict=True)
        if now.text != translation
    ]
    assert len(told) == 30
    assert len(differing) <= MAY_DIFFER, differing
