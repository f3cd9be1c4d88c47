"""Alignments as text, and how far they are from gold."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.align.error_rate import error_rate
from regard.align.links import Links
from regard.align.pharaoh import Gold, read_gold, read_links, write_links
from regard.errors import DataError

links = st.frozensets(st.tuples(st.integers(0, 300), st.integers(0, 300)), max_size=20)
NONE: Links = frozenset()


@settings(deadline=None, max_examples=50)
@given(links)
def test_what_is_written_is_read_again(some: Links) -> None:
    assert read_links(write_links(some)) == some


def test_links_are_written_in_order() -> None:
    assert write_links(frozenset({(10, 0), (2, 3), (2, 1)})) == "2-1 2-3 10-0"


def test_sure_links_are_possible_too() -> None:
    assert read_gold("0-0 1p2") == Gold(frozenset({(0, 0)}), frozenset({(0, 0), (1, 2)}))


def test_a_link_both_sure_and_possible_is_sure() -> None:
    assert read_gold("1p2 1-2").sure == {(1, 2)}


def test_one_based_words_are_counted_from_zero_afterwards() -> None:
    assert read_gold("1-1 2p3", one_based=True) == read_gold("0-0 1p2")


@pytest.mark.parametrize(
    ("line", "one_based", "message"),
    [
        ("0-0 1:2", False, "gold, line 3: '1:2' is not a link; expected i-j, or ipj if possible"),
        ("0", False, "'0' is not a link"),
        ("-1-2", False, "'-1-2' is not a link"),
        ("1-1 0-1", True, "'0-1' counts from 0; leave out --one-based"),
    ],
)
def test_a_bad_line_is_named(line: str, one_based: bool, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_gold(line, one_based=one_based, where="gold, line 3")


def test_an_alignment_has_no_possible_links() -> None:
    with pytest.raises(DataError, match="holds possible links"):
        read_links("0-0 1p1")


def test_the_error_rate_equals_a_calculation_by_hand() -> None:
    gold = [
        Gold(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1), (1, 2)})),
        Gold(frozenset({(0, 0)}), frozenset({(0, 0)})),
    ]
    found: list[Links] = [frozenset({(0, 0), (1, 2), (2, 2)}), frozenset({(0, 0)})]
    rate = error_rate(found, gold)
    # A = 4 links, S = 3; 2 of A are sure, 3 possible.
    assert rate.precision == pytest.approx(3 / 4)
    assert rate.recall == pytest.approx(2 / 3)
    assert rate.aer == pytest.approx(1 - (2 + 3) / (4 + 3))


@settings(deadline=None, max_examples=50)
@given(links, links)
def test_between_sure_and_possible_there_is_no_error(sure: Links, more: Links) -> None:
    gold = Gold(sure, sure | more)
    assert error_rate([sure], [gold]).aer == 0
    assert error_rate([sure | more], [gold]).aer == pytest.approx(0)


@settings(deadline=None, max_examples=50)
@given(links)
def test_nothing_right_is_an_error_of_one(sure: Links) -> None:
    wrong: Links = frozenset((i + 1000, j) for i, j in sure)
    if sure:
        assert error_rate([wrong], [Gold(sure, sure)]).aer == 1
        assert error_rate([NONE], [Gold(sure, sure)]).aer == 1


@settings(deadline=None, max_examples=50)
@given(links, links, links)
def test_all_rates_lie_between_zero_and_one(found: Links, sure: Links, more: Links) -> None:
    rate = error_rate([found], [Gold(sure, sure | more)])
    assert all(0 <= each <= 1 for each in (rate.aer, rate.precision, rate.recall))


@settings(deadline=None, max_examples=50)
@given(links, links)
def test_without_possible_links_it_is_one_minus_f1(found: Links, sure: Links) -> None:
    rate = error_rate([found], [Gold(sure, sure)])
    if found & sure:
        f1 = 2 * rate.precision * rate.recall / (rate.precision + rate.recall)
        assert rate.aer == pytest.approx(1 - f1)


def test_nothing_to_say_and_nothing_said_is_no_error() -> None:
    rate = error_rate([NONE], [Gold(NONE, NONE)])
    assert (rate.aer, rate.precision, rate.recall) == (0, 1, 1)
