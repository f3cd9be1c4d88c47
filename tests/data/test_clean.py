"""Cleaning does what `check` advises."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.check import Reading, check, fold
from regard.data.clean import Cleaner, Rules
from regard.data.corpus import Example

GOOD = [Example(f"Le chat numéro {n} dort.", f"Cat number {n} sleeps.") for n in range(50)]
ALL = Rules(spaces=True, unescape=True, drop_copies=True)


def clean(
    pairs: list[Example], rules: Rules = ALL, held_out: list[Example] | None = None
) -> Cleaner:
    cleaner = Cleaner(rules, held_out or [])
    assert len(list(cleaner.clean(pairs))) == cleaner.kept
    return cleaner


def test_good_pairs_are_kept_unchanged_and_in_order() -> None:
    assert list(Cleaner(ALL).clean(GOOD)) == GOOD


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (Example("Un Ã©tÃ© chaud", "A hot summer"), "wrongly decoded"),
        (Example("mot " * 201, "word " * 201), "too long"),
        (Example("Oui.", "Yes, and then there was much more to say."), "lengths too different"),
        (Example("Rien à faire", "rien à faire"), "source and target the same"),
        (Example("&nbsp;", "x"), "empty"),
        (GOOD[0], "repeated"),
    ],
)
def test_a_bad_pair_is_dropped_for_its_reason(pair: Example, reason: str) -> None:
    cleaner = clean([*GOOD, pair])
    assert dict(cleaner.dropped) == {reason: 1}
    assert cleaner.kept == len(GOOD)


@pytest.mark.parametrize(
    "pair", [Example("le CHAT numéro 3 dort.", "x"), Example("x", "Cat number  3 sleeps.")]
)
def test_a_pair_that_shares_either_side_with_a_held_out_one_is_dropped(pair: Example) -> None:
    rules = replace(ALL, max_ratio=100.0)
    assert dict(clean(GOOD, rules, [pair]).dropped) == {"held out": 1}


def test_copies_are_kept_unless_they_are_to_go() -> None:
    copies = [Example("a b", "a b")]
    assert list(Cleaner(Rules()).clean(copies)) == copies


def test_spaces_and_entities_are_mended_and_counted() -> None:
    cleaner = Cleaner(ALL)
    pair = Example("Où\u00a0?", "Where &amp;  when?")
    assert list(cleaner.clean([pair])) == [Example("Où ?", "Where & when?")]
    assert cleaner.mended == 1


def test_nothing_is_mended_unless_asked() -> None:
    pair = Example("Où\u00a0?", "Where &amp;  when?")
    assert list(Cleaner(Rules()).clean([pair])) == [pair]


def test_an_unescaped_line_break_does_not_break_the_line() -> None:
    (pair,) = Cleaner(ALL).clean([Example("un&#10;deux", "one two")])
    assert pair.source == "un deux"


sentences = st.sampled_from(
    ["un", "Un", "deux trois", "Ã©t", "a&amp;b", "x\u00a0y", "long " * 9, "one", "two three"]
)
pairs = st.lists(st.builds(Example, sentences, sentences), max_size=12)


@given(pairs, pairs)
def test_a_cleaned_corpus_gives_check_nothing_to_advise(
    corpus: list[Example], held_out: list[Example]
) -> None:
    kept = list(Cleaner(ALL, held_out).clean(corpus))
    report = check(
        Reading("train", list(enumerate(kept, start=1))),
        [Reading("test", list(enumerate(held_out, start=1)))],
    )
    advised = [
        finding.what
        for finding in report.findings
        if finding.split == "train" or "in train too" in finding.what
    ]
    assert set(advised) <= {"sources with several targets", "has no pairs"}


@given(pairs)
def test_cleaning_twice_is_cleaning_once(corpus: list[Example]) -> None:
    once = list(Cleaner(ALL).clean(corpus))
    assert list(Cleaner(ALL).clean(once)) == once


@given(pairs)
def test_every_pair_is_kept_or_dropped_for_one_reason(corpus: list[Example]) -> None:
    cleaner = clean(corpus)
    assert cleaner.kept + cleaner.dropped.total() == len(corpus)
    assert len({fold(reason) for reason in cleaner.dropped}) == len(cleaner.dropped)
