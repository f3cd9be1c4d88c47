"""Languages are told apart by their letters alone."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.phrasebook import phrasebook
from regard.text.detect import MAX_ORDER, _NGrams, detect, known_languages

# None of these stands in the samples.
SENTENCES = {
    "de": [
        "Wo ist der Bahnhof?",
        "Ich habe gestern meinen Freund in Berlin gesehen.",
        "Die Katze saß auf der Matte.",
        "Wir fliegen im September nach Afrika.",
        "Das Fenster ist offen, und es zieht.",
    ],
    "en": ["The cat sat on the mat.", "Hello World", "The law will never be perfect."],
    "fr": ["Le chat était assis sur le tapis.", "Où est la gare ?", "Ça va bien."],
}


def test_the_languages_with_a_sample_are_known() -> None:
    assert known_languages() == ("de", "en", "fr")


@pytest.mark.parametrize(
    ("language", "text"), [(code, text) for code in SENTENCES for text in SENTENCES[code]]
)
def test_a_sentence_is_in_its_language(language: str, text: str) -> None:
    assert detect(text, ["en", "fr", "de"])[0][0] == language
    assert detect(text.upper(), ["en", "fr", "de"])[0][0] == language


def test_nearly_every_sentence_of_the_phrasebook_is_in_its_language() -> None:
    pairs = phrasebook(size=400, seed=3).train
    texts = {"fr": [pair.source for pair in pairs], "en": [pair.target for pair in pairs]}
    for language, sentences in texts.items():
        right = [detect(text, ["de", "en", "fr"])[0][0] == language for text in sentences]
        assert sum(right) > 0.97 * len(sentences) > 0


@given(st.text(max_size=200), st.lists(st.sampled_from(["en", "fr", "de", "xx"]), unique=True))
def test_probabilities_are_probabilities(text: str, languages: list[str]) -> None:
    found = detect(text, languages)
    assert sorted(language for language, _ in found) == sorted(languages)
    assert all(a >= b for (_, a), (_, b) in pairwise(found))
    known = sum(p for language, p in found if language != "xx")
    assert known == pytest.approx(1.0 if {*languages} - {"xx"} else 0.0)
    assert ("xx", 0.0) in found or "xx" not in languages


def test_a_text_without_letters_is_in_no_language_more_than_another() -> None:
    found = detect("12:30 – 14 %", ["en", "fr", "de"])
    assert [p for _, p in found] == pytest.approx([1 / 3] * 3)


def test_what_may_follow_a_context_sums_to_one() -> None:
    sample = " abracadabra "
    model = _NGrams(sample)
    rest = 0x110000 - len(set(sample))  # all other characters are alike
    for context in ("", "a", "br", "zz"):
        grams = [f"{context}{c}"[-MAX_ORDER:] for c in set(sample)]
        total = sum(model._prob(gram) for gram in grams)
        total += rest * model._prob(f"{context}…"[-MAX_ORDER:])
        assert math.isclose(total, 1.0, rel_tol=1e-9)
