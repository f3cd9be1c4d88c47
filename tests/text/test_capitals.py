"""Who writes in capitals is read in small letters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text import capitals
from regard.text.byte import Bytes
from regard.text.words import Words

SMALL = Words([" où", "Où", " est", " la", " gare", " ?"])


def words_of(text: str) -> list[str]:
    return [text[start:end] for start, end in capitals.encode(text, SMALL).offsets]


def test_capitals_are_read_as_small_letters_where_they_stand() -> None:
    found = capitals.encode("OÙ EST LA GARE ?", SMALL)
    assert found.is_lowered
    assert found.ids == SMALL.encode("Où est la gare ?").ids
    assert found.text == "OÙ EST LA GARE ?"
    assert words_of(found.text) == ["OÙ", " EST", " LA", " GARE", " ?"]


@pytest.mark.parametrize("text", ["NASA", "A B", "Où EST LA GARE ?", "où est la gare", "1 2 3", ""])
def test_what_is_not_in_capitals_is_read_as_it_is(text: str) -> None:
    assert capitals.encode(text, SMALL) == SMALL.encode(text)


def test_a_model_that_knows_capitals_reads_them() -> None:
    text = "OÙ EST LA GARE ?"
    tokeniser = Words(["OÙ", " EST", " LA", " GARE", " ?"])
    for known in (tokeniser, Bytes()):
        assert capitals.encode(text, known) == known.encode(text)


@given(st.text())
def test_nothing_moves(text: str) -> None:
    encoded = SMALL.encode(text)
    shouted = capitals.in_capitals(encoded)
    assert len(shouted.text) == len(text)
    assert (shouted.ids, shouted.offsets) == (encoded.ids, encoded.offsets)
    assert capitals.encode(text.upper(), SMALL).text == text.upper()


def test_a_letter_without_a_capital_stays() -> None:
    assert capitals.in_capitals(SMALL.encode("Straße")).text == "STRAßE"
