"""Two systems, line by line."""

import pytest

from regard.errors import DataError
from regard.metrics.bleu import bleu
from regard.metrics.compare import compare_lines

REFERENCES = ["a b c d e", "f g h i j", "k l m n o", "p q r s t"]
SYSTEM = ["a b c d e", "f g h i j", "k l x n o", "p q r s t"]
BASELINE = ["a b c d e", "x x x x x", "k l m n o", "p q r s x"]


def test_only_lines_that_differ_are_listed() -> None:
    found = compare_lines(bleu(), SYSTEM, BASELINE, REFERENCES)
    assert sorted(one.line for one in found) == [2, 3, 4]


def test_the_largest_difference_comes_first() -> None:
    sizes = [abs(one.difference) for one in compare_lines(bleu(), SYSTEM, BASELINE, REFERENCES)]
    assert sizes == sorted(sizes, reverse=True)


def test_equal_differences_keep_the_order_of_the_file() -> None:
    found = compare_lines(bleu(), ["a b", "a b", "a b"], ["c d"] * 3, ["a b"] * 3)
    assert [one.line for one in found] == [1, 2, 3]


def test_exchanging_the_systems_turns_every_difference() -> None:
    there = compare_lines(bleu(), SYSTEM, BASELINE, REFERENCES)
    back = compare_lines(bleu(), BASELINE, SYSTEM, REFERENCES)
    assert [one.difference for one in there] == [-one.difference for one in back]


@pytest.mark.parametrize("short", [0, 1])
def test_a_missing_line_is_an_error(short: int) -> None:
    system, baseline = (
        text[:-1] if place == short else text for place, text in enumerate((SYSTEM, BASELINE))
    )
    with pytest.raises(DataError, match="3 hypotheses for 4 references"):
        compare_lines(bleu(), system, baseline, REFERENCES)
