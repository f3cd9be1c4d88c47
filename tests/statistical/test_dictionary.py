"""Word by word: the best word of each, and two rules of order that are learned."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from regard.align.links import Links
from regard.errors import ModelFileError
from regard.statistical.dictionary import Dictionary, train_dictionary
from regard.statistical.reordering import Reordering, clauses, learn_reordering
from regard.statistical.tokens import joined, tokens_of, words_of

NOUNS = [("voiture", "car"), ("maison", "house"), ("porte", "door"), ("robe", "dress")]
COLOURS = [("rouge", "red"), ("verte", "green"), ("noire", "black")]
THINGS = [("ball", "ball"), ("hund", "dog"), ("mann", "man"), ("stein", "stone")]
DONE = [("gefangen", "caught"), ("gesehen", "seen"), ("gesucht", "sought")]


def trained(pairs: list[tuple[str, str]]) -> Dictionary:
    return train_dictionary([words_of(f) for f, _ in pairs], [tokens_of(e) for _, e in pairs])


def translate(dictionary: Dictionary, text: str) -> str:
    return joined(dictionary.translate(words_of(text), tokens_of(text))[0])


@pytest.fixture(scope="module")
def french() -> Dictionary:
    """Nouns before their adjectives, one combination left out."""
    pairs = [
        (f"la {noun} {colour} brille.", f"the {red} {car} shines.")
        for (noun, car), (colour, red) in itertools.product(NOUNS, COLOURS)
        if (noun, colour) != ("porte", "noire")
    ]
    pairs += [(f"la {noun}.", f"the {car}.") for noun, car in NOUNS]
    pairs += [(f"une {noun}.", f"a {car}.") for noun, car in NOUNS]
    pairs += [(f"{colour}.", f"{red}.") for colour, red in COLOURS]
    return trained(pairs)


@pytest.fixture(scope="module")
def german() -> Dictionary:
    """Participles at the end of their clause, one combination left out."""
    pairs = [
        (f"er hat den {thing} {done}.", f"he has {caught} the {ball}.")
        for (thing, ball), (done, caught) in itertools.product(THINGS, DONE)
        if (thing, done) != ("stein", "gesucht")
    ]
    pairs += [(f"er sieht den {thing}.", f"he sees the {ball}.") for thing, ball in THINGS]
    pairs += [(f"den {thing}.", f"the {ball}.") for thing, ball in THINGS]
    pairs += [(f"{done}.", f"{caught}.") for done, caught in DONE]
    return trained(pairs)


def test_french_adjectives_go_before_nouns_they_were_never_seen_with(french: Dictionary) -> None:
    assert french.rules.swapped == {"rouge", "verte", "noire"}
    assert translate(french, "la porte noire brille.") == "the black door shines."


def test_german_participles_go_behind_their_auxiliary(german: Dictionary) -> None:
    assert german.rules.opening == {"hat"}
    assert translate(german, "er hat den stein gesucht.") == "he has sought the stone."
    assert translate(german, "er sieht den stein.") == "he sees the stone."


def test_unknown_words_are_copied_as_they_are_written(french: Dictionary) -> None:
    assert translate(french, "la Tardis rouge?") == "the red Tardis?"


def test_what_stands_in_every_sentence_is_no_second_article() -> None:
    """Five words are one article, and a stop stands beside them all."""
    articles = ["ein", "eine", "einen", "einem", "einer"]
    pairs = [
        (f"{here} {x} {there} {y}.", f"a {x}s a {y}s.")
        for here, there, x, y in itertools.product(articles, articles, "bcd", "hjk")
    ]
    pairs += 4 * [(f"{x} {y}.", f"{x}s {y}s.") for x, y in itertools.product("bcd", "hjk")]
    assert translate(trained(pairs), "ein b einen h.") == "a bs a hs."


def test_every_word_has_one_link(french: Dictionary) -> None:
    words = words_of("la porte noire brille.")
    tokens, links = french.translate(words, words)
    assert [i for i, _ in links] == sorted(j for _, j in links) == list(range(len(words)))
    assert (1, 2) in links
    assert tokens[2].strip() == "door"


def test_an_empty_sentence_stays_empty(french: Dictionary) -> None:
    assert french.translate([], []) == ([], [])


def test_a_rule_needs_more_than_half_of_what_was_seen() -> None:
    sentences = [["a", "b"]] * 4
    crossed: Links = frozenset({(0, 1), (1, 0)})
    straight: Links = frozenset({(0, 0), (1, 1)})
    learn = learn_reordering
    assert learn(sentences, [crossed] * 3 + [straight]).swapped == {"b"}
    assert learn(sentences, [crossed] * 2 + [straight] * 2).swapped == set()
    assert learn(sentences[:2], [crossed] * 2).swapped == set()  # too few


def test_no_rule_moves_a_word_over_a_mark() -> None:
    rules = Reordering(frozenset({"rouge"}), frozenset({"hat"}))
    assert rules.order(["une", "porte", ",", "rouge"]) == [0, 1, 2, 3]
    assert rules.order(["er", "hat", ",", "x", "y"]) == [0, 1, 2, 3, 4]
    assert rules.order(["er", "hat", "x", "y", ",", "z"]) == [0, 1, 3, 2, 4, 5]


def test_clauses_lie_between_marks() -> None:
    assert list(clauses(["a", "b", ",", "...", "c", "."])) == [(0, 2), (4, 5)]
    assert list(clauses(["."])) == list(clauses([])) == []


def test_a_file_holds_all_of_it(german: Dictionary, tmp_path: Path) -> None:
    german.save(tmp_path / "dictionary.npz")
    assert Dictionary.load(tmp_path / "dictionary.npz") == german
    empty = Dictionary({}, Reordering(frozenset(), frozenset()))
    empty.save(tmp_path / "empty.npz")
    assert Dictionary.load(tmp_path / "empty.npz") == empty


@pytest.mark.parametrize("words", [b"\na", b"\na\na", b"\na\nb\nc"])
def test_a_file_that_makes_no_sense_is_refused(tmp_path: Path, words: bytes) -> None:
    lists = {"source_words": words, "target_tokens": b"\nx\ny", "swapped": b"", "opening": b""}
    arrays = {name: np.frombuffer(each, np.uint8) for name, each in lists.items()}
    np.savez(tmp_path / "bad.npz", format=np.array(1), **arrays)  # type: ignore[arg-type]
    with pytest.raises(ModelFileError, match="do not have one translation each"):
        Dictionary.load(tmp_path / "bad.npz")
