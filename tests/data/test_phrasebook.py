"""The phrasebook: its grammar, and the promise that its test asks for composition."""

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from regard.data import phrasebook as module
from regard.data.clause import Mood, say
from regard.data.corpus import Example
from regard.data.lexicon import (
    ADJECTIVES,
    AGREEMENTS,
    HANDLING,
    MOVING,
    MY,
    PLACES,
    STAYING,
    THE,
    THINGS,
    THIS,
    VISITING,
    Action,
    Adjective,
    Determiner,
    Noun,
    Subject,
    Tense,
    join,
    noun_phrase,
)
from regard.data.phrasebook import FRAMES, SIZE, Derivation, Draw, derive, lexicon, phrasebook
from regard.errors import ConfigError

WORD = re.compile(r"\w+(?:-\w+)*'?|[^\w\s]")
Made = dict[module.Split, list[Derivation]]


@pytest.fixture(scope="module")
def splits() -> Made:
    return derive(SIZE, seed=0)


def everything(splits: Made) -> Iterator[Derivation]:
    for split in splits.values():
        yield from split


def test_the_lectures_sentence_is_in_test_and_nowhere_else(splits: Made) -> None:
    pair = Example("Jane visite l'Afrique en septembre.", "Jane visits Africa in September.")
    assert [name for name in splits if pair in [d.example for d in splits[name]]] == ["test"]


def test_the_lectures_composition_belongs_to_test() -> None:
    assert module.LECTURE.split == "test"


def test_the_lectures_sentence_is_in_every_test_however_small() -> None:
    assert phrasebook(size=48, seed=9).test[0].target == "Jane visits Africa in September."


def test_no_composition_is_in_two_splits(splits: Made) -> None:
    owners: dict[module.Composition, set[str]] = {}
    for name, derivations in splits.items():
        for derivation in derivations:
            owners.setdefault(derivation.composition, set()).add(name)
    assert all(len(names) == 1 for names in owners.values())


def test_no_composition_is_in_two_splits_of_two_seeds(splits: Made) -> None:
    held_out = {derivation.composition for derivation in derive(2400, seed=1)["test"]}
    assert not held_out & {derivation.composition for derivation in splits["train"]}


def test_each_part_of_a_test_composition_is_well_known_in_training(splits: Made) -> None:
    parts = Counter(part for derivation in splits["train"] for part in derivation.composition)
    tested = {part for derivation in splits["test"] for part in derivation.composition}
    assert min(parts[part] for part in tested) >= 10


def test_jane_never_visits_africa_in_training(splits: Made) -> None:
    for derivation in (*splits["train"], *splits["valid"]):
        words = set(WORD.findall(derivation.french))
        assert not ({"Jane", "Afrique"} <= words and words & {"visite", "visiter", "visité"}) or (
            {"Jane", "et", "Alice"} <= words
        )


@pytest.mark.parametrize("side", ["french", "english"])
def test_every_held_out_word_is_frequent_in_training(splits: Made, side: str) -> None:
    counts = Counter(
        word for derivation in splits["train"] for word in WORD.findall(getattr(derivation, side))
    )
    held_out = {
        word
        for name in ("valid", "test")
        for derivation in splits[name]
        for word in WORD.findall(getattr(derivation, side))
    }
    assert min((counts[word], word) for word in held_out) >= (20, "")


def test_every_frame_is_about_equally_frequent(splits: Made) -> None:
    counts = Counter(derivation.frame for derivation in splits["train"])
    mean = len(splits["train"]) / len(FRAMES)
    assert len(counts) == len(FRAMES)
    assert all(0.85 * mean < count < 1.15 * mean for count in counts.values())


def test_a_french_sentence_has_one_english_translation() -> None:
    meanings: dict[str, str] = {}
    draw = Draw(5)
    for _ in range(300):
        for frame in FRAMES:
            derivation = frame(draw)
            said = meanings.setdefault(derivation.french, derivation.english)
            assert said == derivation.english


def test_a_french_sentence_belongs_to_one_composition() -> None:
    owners: dict[str, module.Composition] = {}
    draw = Draw(6)
    for _ in range(300):
        for frame in FRAMES:
            derivation = frame(draw)
            assert owners.setdefault(derivation.french, derivation.composition) == (
                derivation.composition
            )


def test_no_sentence_is_said_twice(splits: Made) -> None:
    sentences = [derivation.french for derivation in everything(splits)]
    assert len(set(sentences)) == len(sentences)


def test_the_splits_have_the_promised_sizes(splits: Made) -> None:
    assert {name: len(made) for name, made in splits.items()} == {
        "train": SIZE - 1500,
        "valid": 500,
        "test": 1000,
    }


def test_a_corpus_is_a_function_of_size_and_seed() -> None:
    assert phrasebook(size=480, seed=1) == phrasebook(size=480, seed=1)
    assert phrasebook(size=480, seed=1) != phrasebook(size=480, seed=2)


def test_sentences_are_short(splits: Made) -> None:
    for derivation in everything(splits):
        for sentence in (derivation.french, derivation.english):
            assert 3 <= len(WORD.findall(sentence)) - 1 <= 14  # without the full stop


FRENCH = re.compile(r"[A-ZÀÉÊÎÔÛ0-9][^.?!]*(?:[^ ]\.| \?)")
ENGLISH = re.compile(r"[A-Z][^.?!]*[^ ](?:\.|\?)")


def test_sentences_are_written_as_each_language_writes_them(splits: Made) -> None:
    for derivation in everything(splits):
        assert FRENCH.fullmatch(derivation.french)
        assert ENGLISH.fullmatch(derivation.english)
        assert derivation.french.endswith("?") == derivation.english.endswith("?")
        assert "  " not in derivation.french + derivation.english


def test_french_elides_and_contracts_wherever_it_must(splits: Made) -> None:
    wrong = re.compile(
        r"\b(?:je|ne|que|le|la|de) [aàâeéèêiîoôuûh]|\b(?:à|de) les? |\bce [aeéiouh]|"
        r"\b(?:beau|nouveau) [aeéiouh]|\bvieux [aeéiouh]\w*(?<![sx])\b|\b(?:ma|ta) [aeéiouh]",
        re.IGNORECASE,
    )
    assert not [d.french for d in everything(splits) if wrong.search(d.french)]


def test_english_says_an_before_a_vowel_and_a_elsewhere(splits: Made) -> None:
    wrong = re.compile(r"\ba [aeiou]|\ban [^aeiou]", re.IGNORECASE)
    assert not [d.english for d in everything(splits) if wrong.search(d.english)]


def the(fr: str) -> Subject:
    return next(subject for group in AGREEMENTS for subject in group if subject.fr == fr)


def does(infinitive: str) -> Action:
    verbs = (*VISITING, *STAYING, *MOVING, *HANDLING)
    return next(verb for verb in verbs if verb.infinitive == infinitive)


@pytest.mark.parametrize(
    ("who", "verb", "tense", "mood", "fr", "en"),
    [
        ("je", "acheter", "present", "statement", "J'achète", "I buy"),
        ("je", "acheter", "past", "negation", "Je n'ai pas acheté", "I did not buy"),
        ("nous", "voyager", "present", "statement", "Nous voyageons", "We travel"),
        ("elle", "étudier", "present", "statement", "Elle étudie", "She studies"),
        ("elles", "revenir", "past", "statement", "Elles sont revenues", "They came back from"),
        ("vous", "aller", "past", "statement", "Vous êtes allés", "You went to"),
        ("Alice", "visiter", "present", "question", "Est-ce qu'Alice visite", "Does Alice visit"),
        (
            "ils",
            "vendre",
            "future",
            "negation",
            "Ils ne vont pas vendre",
            "They are not going to sell",
        ),
        ("tu", "habiter", "present", "why", "Pourquoi est-ce que tu habites", "Why do you live"),
        (
            "mes sœurs",
            "arriver",
            "past",
            "when",
            "Quand est-ce que mes sœurs sont arrivées",
            "When did my sisters arrive in",
        ),
    ],
)
def test_a_clause_agrees(who: str, verb: str, tense: Tense, mood: Mood, fr: str, en: str) -> None:
    french, english = say(the(who), does(verb), tense, mood, "", "")
    assert (french.rstrip(" .?"), english.rstrip(".?")) == (fr, en)


@pytest.mark.parametrize(
    ("name", "itself", "inside", "origin"),
    [
        ("Afrique", "l'Afrique", "en Afrique", "d'Afrique"),
        ("France", "la France", "en France", "de France"),
        ("Canada", "le Canada", "au Canada", "du Canada"),
        ("États-Unis", "les États-Unis", "aux États-Unis", "des États-Unis"),
        ("Paris", "Paris", "à Paris", "de Paris"),
    ],
)
def test_a_place_takes_its_prepositions(name: str, itself: str, inside: str, origin: str) -> None:
    place = next(place for place in PLACES if place.fr == name)
    assert (place.itself, place.inside, place.origin) == (itself, inside, origin)


def thing(fr: str) -> Noun:
    return next(noun for noun in THINGS if noun.fr == fr)


def kind(fr: str) -> Adjective:
    return next(adjective for adjective in ADJECTIVES if adjective.fr == fr)


@pytest.mark.parametrize(
    ("phrase", "fr", "en"),
    [
        (
            (THIS, thing("ordinateur"), False, kind("vieux")),
            "ce vieil ordinateur",
            "this old computer",
        ),
        (
            (THIS, thing("ordinateur"), False, kind("noir")),
            "cet ordinateur noir",
            "this black computer",
        ),
        ((THIS, thing("horloge"), False, None), "cette horloge", "this clock"),
        ((MY, thing("échelle"), False, kind("blanc")), "mon échelle blanche", "my white ladder"),
        ((MY, thing("échelle"), False, kind("petit")), "ma petite échelle", "my small ladder"),
        ((THE, thing("chapeau"), True, kind("beau")), "les beaux chapeaux", "the beautiful hats"),
        ((THE, thing("album"), False, None), "l'album", "the album"),
        ((THE, thing("montre"), True, kind("gris")), "les montres grises", "the grey watches"),
        ((THE, thing("sac"), True, kind("gris")), "les sacs gris", "the grey bags"),
    ],
)
def test_a_noun_phrase_agrees(
    phrase: tuple[Determiner, Noun, bool, Adjective | None], fr: str, en: str
) -> None:
    assert noun_phrase(*phrase) == (fr, en)


@pytest.mark.parametrize(
    ("words", "joined"),
    [
        (("il", "ne", "y", "a", "pas"), "il n'y a pas"),
        (("près de", "le hôtel"), "près de l'hôtel"),
        (("près de", "le musée"), "près du musée"),
        (("à", "les enfants"), "aux enfants"),
        (("est-ce que", "", "elle"), "est-ce qu'elle"),
    ],
)
def test_words_are_joined_as_french_writes_them(words: tuple[str, ...], joined: str) -> None:
    assert join(*words) == joined


def test_a_deck_shows_every_card_before_any_again() -> None:
    draw, cards = Draw(0), tuple(range(7))
    for _ in range(3):
        assert sorted(draw.one(cards) for _ in cards) == list(cards)


def test_the_lexicon_knows_every_french_word_of_the_phrasebook(splits: Made) -> None:
    known = {word.casefold() for word in lexicon()}
    words = {
        word.casefold()
        for derivation in everything(splits)
        for word in re.findall(r"aujourd'hui|\w+(?:-\w+)*'?", derivation.french.casefold())
        if not word.isdigit()
    }
    assert words <= known


def test_the_lexicon_translates_content_words() -> None:
    entries = lexicon()
    asked = ("Afrique", "visite", "visitons", "belles", "souris", "septembre", "avocates", "frère")
    assert [entries[word] for word in asked] == [
        "Africa", "visits", "visit", "beautiful", "mouse", "September", "lawyers", "brother",
    ]  # fmt: skip


def test_too_small_a_size_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        phrasebook(size=47)
    assert str(caught.value) == "size = 47 is too small for a phrasebook; use 48 or more"


def test_more_than_the_grammar_says_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FRAMES", (lambda draw: module.LECTURE,))
    monkeypatch.setattr(module, "_PATIENCE", 100)
    with pytest.raises(ConfigError) as caught:
        phrasebook(size=1_000_000)
    assert str(caught.value) == "size = 1,000,000 is more than the grammar says; try 1"
