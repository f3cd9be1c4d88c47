import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.normal import Form, normalised, normalised_with_spans, well_formed

# Jamo, half-width kana with their marks, Bengali and Tamil vowels that compose, and ligatures.
COMPOSING = "a\u0301\u0334\u3099ﾞｶｱ한\u1112\u1161\u11abক\u09c7\u09beஒ\u0bd7ﬁ①ａ⁵\u0344ẛ\u0323"


@given(st.text(COMPOSING) | st.text())
def test_stretches_put_together_are_the_normalised_text(text: str) -> None:
    assert normalised_with_spans(text, "nfkc")[0] == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize("form", ["none", "nfkc", "lower"])
@given(st.text(COMPOSING) | st.text())
def test_every_character_has_a_span_and_the_spans_cover_the_text(form: Form, text: str) -> None:
    result, spans = normalised_with_spans(text, form)
    assert result == normalised(text, form)
    assert len(spans) == len(result)
    assert spans == sorted(spans)
    assert {i for start, end in spans for i in range(start, end)} == set(range(len(text)))


def test_unchanged_letters_keep_their_own_spans() -> None:
    assert normalised_with_spans("aﬁb", "nfkc") == ("afib", [(0, 1), (1, 2), (1, 2), (2, 3)])


def test_lower_case_has_no_capitals_and_keeps_its_spans() -> None:
    assert normalised_with_spans("ÉİΣ", "lower") == ("éi̇σ", [(0, 1), (1, 2), (1, 2), (2, 3)])


@given(st.text())
def test_lower_case_stays_as_it_is(text: str) -> None:
    once = normalised(text, "lower")
    assert normalised(once, "lower") == once


@given(st.text(st.characters()))
def test_the_form_none_changes_no_well_formed_text(text: str) -> None:
    assert normalised(text, "none") == well_formed(text)


@given(st.text(st.characters()))
def test_a_well_formed_text_can_be_written_and_has_the_same_length(text: str) -> None:
    assert len(well_formed(text).encode("utf-8").decode("utf-8")) == len(text)
