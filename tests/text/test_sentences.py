import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.sentences import Language, split_sentences


@pytest.mark.parametrize("language", [None, "own"])
@pytest.mark.parametrize(
    ("own", "sentences"),
    [
        ("en", "Jane visits Africa. | She likes it! | Does she? | Yes."),
        ("en", "Mr. Smith met Dr. Jones, i.e. Jane. | They talked."),
        ("en", "J. R. R. Tolkien wrote it. | It is long."),
        ("en", "Pi is 3.14. | See No. 5 and p. 12. | He is 12. | She is 10."),
        ("en", "The U.S. President spoke. | He left the U.S. | Then he came."),
        ("en", "Well... maybe. | Wait... | What?! | Really!! | Yes."),
        ("en", 'He said "Go." | She left. | (It was late.) | “Come!” | They came.'),
        ("en", "“Stop!” he said. | Nobody did."),
        ("en", "1. Open the box. | 2. Close it."),
        ("en", "Give it to me. | The rest is yours."),
        ("fr", "M. Dupont est là. | Mme Martin aussi, avec MM. Hugo et Zola."),
        ("fr", "Quoi ? | Non ! | Il part… | Elle reste."),
        ("fr", "Quoi\u00a0? | Non\u202f! | Il part."),
        ("fr", "« Viens ! » dit-il. | « Bonjour. » | Il sourit."),
        ("fr", "Des pommes, des poires, etc. | Le reste suit, p. ex. Paris."),
        ("fr", "En 50 av. J.-C. la Gaule est occupée. | Vraiment ?"),
        ("de", "Das kostet z. B. 3,50 Euro, d. h. Wenig. | Gut."),
        ("de", "Am 3. Oktober feiern wir. | Im 19. Jahrhundert nicht."),
        ("de", "„Komm!“ | Sie ging. | »Geh!« | Er blieb. | »Nein«, sagte er."),
        ("de", "Prof. Dr. Müller (geb. 1950) wohnt in der Bahnhofstr. 5 in Ulm. | Schön."),
        ("de", "Äpfel, Birnen usw. | Danach nichts. | Ca. 30 Leute kamen."),
    ],
)
def test_sentences_end_where_a_reader_says(
    own: Language, sentences: str, language: str | None
) -> None:
    expected = sentences.split(" | ")
    found = split_sentences(" ".join(expected), own if language else None)
    assert [sentence.text for sentence in found] == expected


def test_a_line_break_ends_a_sentence() -> None:
    found = split_sentences("A title\n\n  and a text. \nMore")
    assert [sentence.text for sentence in found] == ["A title", "and a text.", "More"]


@given(st.text() | st.text("Ab.!?… \n«»\"'1z…", max_size=40))
def test_sentences_and_separators_give_back_the_text(text: str) -> None:
    rebuilt, done = "", 0
    for sentence in split_sentences(text):
        separator = text[done : sentence.start]
        assert not separator.strip()
        assert sentence.text == sentence.text.strip() != ""
        rebuilt += separator + sentence.text
        done = sentence.end
    assert not text[done:].strip()
    assert rebuilt + text[done:] == text


@pytest.mark.parametrize("unit", ["." * 20, "A. ", "! ", ".»", "?  ?", ". (", "a. ", '."', "? ?x"])
def test_time_grows_with_length_only(unit: str) -> None:
    split_sentences(unit)  # its rules are compiled

    def seconds(num_units: int) -> float:
        start = time.process_time()
        split_sentences(unit * num_units)
        return time.process_time() - start

    # Ten times the text, ten times the time; a square would be a hundred.
    assert seconds(20_000) < 40 * max(min(seconds(2_000) for _ in range(3)), 0.001)
