"""Tokens: put together they are the text."""

from hypothesis import given
from hypothesis import strategies as st

from regard.statistical.tokens import (
    cased_like,
    joined,
    tokens_of,
    truecased,
    usual_tokens,
    words_of,
)
from regard.text.spans import word_spans

texts = st.text(alphabet=" \u00a0ab'’.-?«É1\u0301", max_size=30)


@given(texts)
def test_tokens_put_together_are_the_text(text: str) -> None:
    assert joined(tokens_of(text)) == text.strip()


@given(texts)
def test_there_is_a_token_for_every_word(text: str) -> None:
    assert len(tokens_of(text)) == len(word_spans(text.strip())) == len(words_of(text.strip()))


def test_a_token_without_its_space_and_case_is_the_word() -> None:
    text = "« Où est l'Afrique ? », dit Jane."
    assert [token.strip().lower() for token in tokens_of(text)] == words_of(text)


def test_the_first_word_gets_the_form_it_has_elsewhere() -> None:
    sentences = [tokens_of(text) for text in ("The cat.", "See the cat.", "Jane!", "I see Jane.")]
    assert [joined(tokens) for tokens in truecased(sentences)] == [
        "the cat.",
        "see the cat.",
        "Jane!",
        "I see Jane.",
    ]


def test_a_first_word_that_stands_nowhere_else_keeps_its_form() -> None:
    assert truecased([tokens_of("Xanadu is far.")]) == [[" Xanadu", " is", " far", "."]]
    assert truecased([[]]) == [[]]


def test_the_usual_token_of_a_word_has_its_case_and_its_space() -> None:
    usual = usual_tokens(tokens_of(text) for text in ("go, Jane", "the end.", "jane? Jane."))
    assert (usual["jane"], usual["."], usual["end"]) == (" Jane", ".", " end")


def test_a_translation_begins_as_its_source_does() -> None:
    assert cased_like("two dogs", "Zwei Hunde") == "Two dogs"
    assert cased_like("two dogs", "zwei Hunde") == "two dogs"
    assert cased_like("", "Zwei") == ""
    assert cased_like("two", "") == "two"
