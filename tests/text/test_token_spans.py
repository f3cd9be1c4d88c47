"""Words of text that was tokenised before."""

from hypothesis import given, settings
from hypothesis import strategies as st

from regard.text.encoded import Encoded
from regard.text.spans import piece_words, token_spans


@settings(deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters=" "), min_size=1), max_size=6))
def test_words_between_spaces_are_found_again(words: list[str]) -> None:
    text = "  ".join(words)
    assert [text[start:end] for start, end in token_spans(text)] == words


def test_pieces_belong_to_the_words_they_are_given() -> None:
    text = "l'Afrique , ."
    offsets = ((0, 2), (2, 9), (9, 11), (11, 13))
    encoded = Encoded(text, (5, 6, 7, 8), ("l'", "Afrique", "▁,", "▁."), offsets)
    assert piece_words(encoded, token_spans) == [0, 0, 1, 2]
    assert piece_words(encoded) == [0, 1, 2, 3]
