"""Each kind of noise does what it says, for any text."""

import re
import unicodedata
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data import noise
from regard.data.corpus import Example
from regard.data.noise import KINDS, Kind, all_spoilt, joined, noisy, spoilt

TEXT = st.text(max_size=60)
FRENCH = st.text("abeéèêçœàùÉ ',.?!…-J3", max_size=60)
ANY = st.one_of(TEXT, FRENCH)
PAIR = st.builds(Example, ANY, ANY)
KIND = st.sampled_from([kind for kind in KINDS if kind != "join"])
JANE = Example("Jane visite l'Afrique en septembre.", "Jane visits Africa in September.")
STATION = Example("Où est la gare ?", "Where is the station?")


@pytest.mark.parametrize(
    ("kind", "source", "target"),
    [
        ("accents", "Ou est la gare ?", "Where is the station?"),
        ("caps", "OÙ EST LA GARE ?", "WHERE IS THE STATION?"),
        ("lower", "où est la gare ?", "Where is the station?"),
        ("stop", "Où est la gare", "Where is the station?"),
    ],
)
def test_a_pair_is_spoilt_on_the_source_side_but_for_capitals(
    kind: Kind, source: str, target: str
) -> None:
    assert spoilt(kind, STATION, Random(0)) == Example(source, target)


@given(KIND, PAIR, st.integers())
def test_the_target_stays_unless_capitals_are_answered(
    kind: Kind, pair: Example, seed: int
) -> None:
    target = spoilt(kind, pair, Random(seed)).target
    assert target == (pair.target.upper() if kind == "caps" else pair.target)


@given(ANY)
def test_no_letter_keeps_its_accent(text: str) -> None:
    bare = noise.without_accents(text)
    assert not any("\u0300" <= mark <= "\u036f" for mark in unicodedata.normalize("NFD", bare))
    assert noise.without_accents(bare) == bare


@given(st.text(st.characters(max_codepoint=127)))
def test_what_has_no_accents_stays(text: str) -> None:
    assert noise.without_accents(text) == text


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("Garçon, l'été à Noël : où êtes-vous ?", "Garcon, l'ete a Noel : ou etes-vous ?"),
        ("Sœur ŒUF Æ", "Soeur OEUF AE"),
        ("e\u0301te\u0301", "ete"),
        ("Übermäßig", "Ubermaßig"),
        ("हिन्दी 한국어 日本", "हिन्दी 한국어 日本"),
    ],
)
def test_accents_are_of_latin_letters(text: str, bare: str) -> None:
    assert noise.without_accents(text) == bare


@given(ANY)
def test_capitals_and_lower_case_are_python_s(text: str) -> None:
    assert noise.in_capitals(text) == text.upper()
    assert noise.in_lower_case(text) == text.lower()


@given(ANY)
def test_without_its_stop_a_text_is_a_beginning_of_itself_and_ends_in_no_mark(text: str) -> None:
    bare = noise.without_stop(text)
    assert text.startswith(bare)
    assert bare == text or bare[-1] not in ".!?… "
    assert set(text[len(bare) :]) <= set(".!?… \u00a0\u202f")


@pytest.mark.parametrize("text", ["", "...", "?!", "Oui", "M. Dupont est là, non"])
def test_a_text_with_no_stop_or_nothing_else_stays(text: str) -> None:
    assert noise.without_stop(text) == text


def slips(word: str) -> set[str]:
    """All that one slip of the fingers makes of a word."""
    found = set()
    for i in range(1, len(word)):
        found.add(word[: i - 1] + word[i] + word[i - 1] + word[i + 1 :])
        found.add(word[:i] + word[i + 1 :])
        found.add(word[:i] + word[i] + word[i:])
        for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm"):
            at = row.find(word[i].lower())
            keys = [row[n] for n in (at - 1, at + 1) if at >= 0 and 0 <= n < len(row)]
            found |= {
                word[:i] + (key.upper() if word[i].isupper() else key) + word[i + 1 :]
                for key in keys
            }
    return found - {word}


@given(st.lists(st.text("abeéJElz", min_size=1, max_size=8), max_size=20), st.integers())
def test_some_words_have_one_slip_each_and_short_ones_none(words: list[str], seed: int) -> None:
    typed = noise.with_typos(" ".join(words), Random(seed)).split(" ")
    assert len(typed) == max(1, len(words))
    changed = [(word, other) for word, other in zip(words, typed, strict=False) if word != other]
    assert all(len(word) >= 4 and other in slips(word) for word, other in changed)
    num_long = sum(len(word) >= 4 for word in words)
    assert len(changed) == (max(1, round(num_long / 6)) if num_long else 0)


@given(TEXT, st.integers())
def test_typos_touch_nothing_but_letters(text: str, seed: int) -> None:
    def others(text: str) -> str:
        return re.sub(r"[^\W\d_]", "", text)

    assert others(noise.with_typos(text, Random(seed))) == others(text)


def test_every_slip_of_a_word_comes_up() -> None:
    typed = {noise.with_typos("gare", Random(seed)) for seed in range(400)}
    assert typed == slips("gare")


@given(PAIR, PAIR)
def test_joined_pairs_are_both_pairs(one: Example, other: Example) -> None:
    both = joined(one, other)
    assert both.source == one.source + " " + other.source
    assert both.target == one.target + " " + other.target


@given(PAIR, PAIR, st.integers())
def test_noise_is_a_function_of_its_seed(one: Example, other: Example, seed: int) -> None:
    assert noisy(one, other, Random(seed)) == noisy(one, other, Random(seed))


def test_a_noisy_pair_is_never_as_it_was_and_all_kinds_come_up() -> None:
    found = [noisy(STATION, JANE, Random(seed)) for seed in range(2000)]
    assert STATION not in found
    kinds = Counter[Kind]()
    for pair in found:
        kinds["join"] += "africa" in pair.target.lower()
        kinds["accents"] += "ù" not in pair.source.lower()
        kinds["caps"] += pair.target.isupper()
        kinds["lower"] += pair.source.islower()
        kinds["stop"] += not pair.source.endswith((".", "?"))
    expected = dict(noise.SHARES)
    expected["lower"] *= 1 - expected["caps"]  # which come after it
    # Somewhat more, where none was drawn and one is taken.
    for kind, count in kinds.items():
        assert -0.03 < count / len(found) - expected[kind] < 0.06


def test_noise_differs_from_seed_to_seed() -> None:
    assert len({noisy(JANE, STATION, Random(seed)) for seed in range(50)}) > 20


# ------------------------------------------------------------------------------ a corpus


@given(KIND, st.lists(PAIR), st.integers())
def test_a_spoilt_corpus_has_its_pairs_in_order(
    kind: Kind, pairs: list[Example], seed: int
) -> None:
    found = list(all_spoilt(kind, pairs, Random(seed)))
    random = Random(seed)
    assert found == [spoilt(kind, pair, random) for pair in pairs]


@given(st.lists(PAIR))
def test_joining_puts_every_two_pairs_on_one_line_and_loses_none(pairs: list[Example]) -> None:
    found = list(all_spoilt("join", pairs, Random(0)))
    assert len(found) == (len(pairs) + 1) // 2
    assert " ".join(p.source for p in found) == " ".join(p.source for p in pairs)
    assert " ".join(p.target for p in found) == " ".join(p.target for p in pairs)
