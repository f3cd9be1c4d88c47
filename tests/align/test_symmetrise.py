"""One alignment out of two directions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.align.links import Links, transposed
from regard.align.options import Symmetrisation
from regard.align.symmetrise import symmetrise

links = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=14)
GROWN: tuple[Symmetrisation, ...] = ("grow-diag", "grow-diag-final", "grow-diag-final-and")

#   forward: every target word chose; reverse: every source word chose.
#        0 1 2 3 4
#      0 ■ f          ■ both
#      1     ■ r      f forward only
#      2   r          r reverse only
#      3         f
FORWARD: Links = frozenset({(0, 0), (0, 1), (1, 2), (3, 4)})
REVERSE: Links = frozenset({(0, 0), (1, 2), (1, 3), (2, 1)})


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("forward", FORWARD),
        ("reverse", REVERSE),
        ("intersection", {(0, 0), (1, 2)}),
        ("union", FORWARD | REVERSE),
        # (0, 1) touches (0, 0) and target 1 is alone; then (1, 3) touches (1, 2). (2, 1)
        # touches (1, 2): its source is alone.
        ("grow-diag", {(0, 0), (1, 2), (0, 1), (1, 3), (2, 1)}),
        # (3, 4) touches nothing, and both its words are alone.
        ("grow-diag-final", FORWARD | REVERSE),
        ("grow-diag-final-and", FORWARD | REVERSE),
    ],
)
def test_a_drawing_is_combined_by_hand(how: Symmetrisation, expected: set[tuple[int, int]]) -> None:
    assert symmetrise(FORWARD, REVERSE, how) == expected


def test_growing_leaves_out_what_touches_nothing() -> None:
    assert symmetrise(frozenset({(0, 0), (3, 3)}), frozenset({(0, 0)}), "grow-diag") == {(0, 0)}


def test_growing_goes_on_from_what_it_added() -> None:
    forward: Links = frozenset({(0, 0), (1, 1), (2, 2)})
    assert symmetrise(forward, frozenset({(0, 0)}), "grow-diag") == forward


def test_growing_adds_no_link_between_words_that_have_one() -> None:
    both = {(0, 0), (1, 1)}
    assert symmetrise(frozenset({*both, (0, 1)}), frozenset(both), "grow-diag") == both


def test_final_wants_one_word_alone_and_final_and_wants_both() -> None:
    forward: Links = frozenset({(0, 0), (0, 3)})
    reverse: Links = frozenset({(0, 0)})
    assert symmetrise(forward, reverse, "grow-diag-final") == forward
    assert symmetrise(forward, reverse, "grow-diag-final-and") == reverse


def test_final_and_gives_a_word_one_link() -> None:
    forward: Links = frozenset({(0, 0), (0, 1), (1, 1)})
    assert symmetrise(forward, frozenset(), "grow-diag-final-and") == {(0, 0), (1, 1)}


@settings(deadline=None, max_examples=50)
@given(links, links)
def test_each_method_lies_between_intersection_and_union(forward: Links, reverse: Links) -> None:
    for how in GROWN:
        found = symmetrise(forward, reverse, how)
        assert forward & reverse <= found <= forward | reverse


@settings(deadline=None, max_examples=50)
@given(links, links)
def test_final_contains_final_and_which_contains_grow_diag(forward: Links, reverse: Links) -> None:
    grown, final, final_and = (symmetrise(forward, reverse, how) for how in GROWN)
    assert grown <= final
    assert grown <= final_and


@settings(deadline=None, max_examples=50)
@given(links)
def test_two_that_agree_stay_as_they_are(agreed: Links) -> None:
    for how in GROWN:
        assert symmetrise(agreed, agreed, how) == agreed


@settings(deadline=None, max_examples=50)
@given(links, links)
def test_final_leaves_no_word_alone_that_has_a_link(forward: Links, reverse: Links) -> None:
    found = symmetrise(forward, reverse, "grow-diag-final")
    for side in (0, 1):
        assert {link[side] for link in found} == {link[side] for link in forward | reverse}


@settings(deadline=None, max_examples=50)
@given(links)
def test_transposing_twice_changes_nothing(some: Links) -> None:
    assert transposed(transposed(some)) == some


def test_transposed_links_have_the_target_first() -> None:
    assert transposed({(0, 3), (1, 2)}) == {(3, 0), (2, 1)}
