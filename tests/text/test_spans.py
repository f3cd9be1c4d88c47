import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.kind import Kind
from regard.text.spans import piece_words, word_spans

from .corpora import KINDS, trained
from .test_tokenisers import TEXTS, tokeniser


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in word_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Jane visite l'Afrique en septembre.", "Jane visite l' Afrique en septembre ."),
        ("« L’été », dit-elle", "« L’ été » , dit-elle"),
        ("Qu'il vienne aujourd'hui", "Qu' il vienne aujourd' hui"),
        ("Don't, it's Jane's.", "Don 't , it 's Jane 's ."),
        ("Wie geht's?", "Wie geht 's ?"),
        ("O'Brien is well-known", "O'Brien is well-known"),
        ("3.14, 1,000 or 10:30", "3.14 , 1,000 or 10:30"),
        ("In the U.S. today", "In the U.S. today"),
        ("Wait... what?!", "Wait ... what ? !"),
        ("e\u0301te\u0301 हिन्दी", "e\u0301te\u0301 हिन्दी"),
        ("hi 👩‍💻!", "hi 👩‍💻 !"),
        ("quoi\u00a0?", "quoi ?"),
        ("", ""),
    ],
)
def test_punctuation_is_split_off(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@given(TEXTS)
def test_words_are_ordered_and_hold_exactly_what_is_not_white_space(text: str) -> None:
    spans = word_spans(text)
    assert spans == sorted(spans)
    inside = [i for start, end in spans for i in range(start, end)]
    assert inside == [i for i, character in enumerate(text) if not character.isspace()]


@pytest.mark.parametrize("kind", KINDS)
@given(text=TEXTS)
def test_every_piece_belongs_to_a_word_it_touches(kind: Kind, text: str) -> None:
    encoded = tokeniser(kind).encode(text)
    spans = word_spans(text)
    for (start, end), word in zip(encoded.offsets, piece_words(encoded), strict=True):
        if text[start:end].strip():
            assert spans[word][0] < end
            assert start < spans[word][1]
        else:
            assert word == -1 if not spans else 0 <= word < len(spans)


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text("ab 'l.é\n", max_size=20))
def test_the_words_of_pieces_never_go_back(kind: Kind, text: str) -> None:
    found = piece_words(tokeniser(kind).encode(text))
    assert found == sorted(found)


def test_pieces_merge_to_the_words_they_were_cut_from() -> None:
    encoded = trained("characters").source.encode("l'Afrique est.")
    assert piece_words(encoded) == [0] * 2 + [1] * 7 + [2] * 4 + [3]


def test_a_lone_space_belongs_to_the_word_that_follows() -> None:
    encoded = trained("characters").source.encode(" a b ")
    assert piece_words(encoded) == [0, 0, 1, 1, 1]
