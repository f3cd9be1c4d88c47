"""A French-English phrasebook written by a grammar: small, correct, and learned in minutes.

    « Jane visite l'Afrique en septembre. » → "Jane visits Africa in September."

Each frame below is one kind of sentence: it draws words from the lexicon, makes them agree, and
says the result in both languages. A French sentence has one English translation, always the same.

The test split asks for composition, not for memory. Every sentence belongs to a composition, the
triple at its heart (who, does, what), whatever its tense, negation or question; a composition
belongs to one split for ever, whatever the seed. So the model has met Jane, visiting and Africa
many times, but never Jane visiting Africa (Lake & Baroni 2018 ask the same of SCAN's commands).
"""

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Literal, TypeVar

from regard.data.clause import (
    Mood,
    english_verb,
    french_verb,
    say,
    sentence_en,
    sentence_fr,
    spaced,
)
from regard.data.corpus import Example, Splits
from regard.data.lexicon import (
    ADJECTIVES,
    AFRICA,
    AGES,
    AGREEMENTS,
    AGREEMENTS_BY_GENDER,
    ANIMALS,
    BE,
    BUILDINGS,
    COST,
    DAYS_OF,
    DETERMINERS,
    FEELINGS,
    FUNCTION_WORDS,
    FURNITURE,
    GIVING,
    HANDLING,
    HAVE,
    HAVE_YEARS,
    HOURS,
    IN_MONTH,
    IN_SEPTEMBER,
    JANE,
    LANGUAGES,
    MONTHS,
    MOVING,
    NUMBERS,
    PLACES,
    PREPOSITIONS_OF,
    PRICES,
    PROFESSIONS,
    RETURN,
    SPEAK,
    SPEAKING,
    STAYING,
    THE,
    THINGS,
    TIMES_OF,
    TIMETABLE,
    TODAY,
    VISIT,
    VISITING,
    WANTING,
    WEATHER,
    A,
    Action,
    Gender,
    Noun,
    Place,
    Subject,
    Tense,
    Time,
    a,
    join,
    noun_group,
    noun_phrase,
)
from regard.errors import ConfigError

T = TypeVar("T")
Split = Literal["train", "valid", "test"]
Composition = tuple[str, str, str]


class Draw:
    """Draws from decks: every card of a list comes up once before any comes up twice.

    Independent draws would leave some forms of some verbs rare; decks keep them all equally
    frequent.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._decks: dict[int, list[object]] = {}

    def one(self, cards: Sequence[T]) -> T:
        """The next card of this list's deck; a list is known by identity, so it is a constant."""
        deck = self._decks.get(id(cards))
        if not deck:
            deck = self._random.sample(list[object](cards), len(cards))
            self._decks[id(cards)] = deck
        return deck.pop()  # type: ignore[return-value]  # the deck holds what the list held


@dataclass(frozen=True, slots=True)
class Derivation:
    """One sentence in both languages, the frame it came from and the composition it realises."""

    frame: str
    composition: Composition
    french: str
    english: str

    @property
    def split(self) -> Split:
        """The split that owns the composition: 1 in 16 is kept for test, 1 in 32 for valid."""
        if self.composition == LECTURE.composition:
            return "test"
        digest = hashlib.blake2b("\t".join(self.composition).encode(), digest_size=4).digest()
        bucket = int.from_bytes(digest, "big") % 32
        return "test" if bucket < 2 else "valid" if bucket == 2 else "train"

    @property
    def example(self) -> Example:
        return Example(self.french, self.english)


# --------------------------------------------------------------------------------------------------
# Frames: one function for each kind of sentence
# --------------------------------------------------------------------------------------------------

_TENSES: tuple[Tense, ...] = (*4 * ("present",), "past", "future")
_EVEN_TENSES: tuple[Tense, ...] = ("present", "past", "future")
_MOODS: tuple[Mood, ...] = (*6 * ("statement",), *2 * ("negation", "question"), "why", "when")
_PLAIN_MOODS: tuple[Mood, ...] = ("statement", "statement", "negation", "question")
_PLURAL = (False, True)
_GENDERS: tuple[Gender, ...] = ("m", "f")
_OFTEN = (True, True, True, False)
_SELDOM = (True, False, False, False)

# Verb, agreement and tense are drawn together, so that no conjugated form is rare.
_VISITING_FORMS = tuple(product(VISITING, AGREEMENTS, _TENSES))
_STAYING_FORMS = tuple(product(STAYING, AGREEMENTS, _TENSES))
_MOVING_FORMS = tuple(
    (verb, agreement, tense)
    for tense in _TENSES
    for verb, agreement in product(MOVING, AGREEMENTS_BY_GENDER if tense == "past" else AGREEMENTS)
)
_HANDLING_FORMS = tuple(product(HANDLING, AGREEMENTS, _TENSES))
_GIVING_FORMS = tuple(product(GIVING, AGREEMENTS, _TENSES))
_SPEAKING_FORMS = tuple(product(SPEAKING, AGREEMENTS, _TENSES))
_WANTING_FORMS = tuple(product(WANTING, AGREEMENTS))
_STATE_FORMS = tuple(product(AGREEMENTS, _EVEN_TENSES))
_FEELING_FORMS = tuple(product(FEELINGS, AGREEMENTS_BY_GENDER, _EVEN_TENSES))
_PROFESSION_FORMS = tuple(product(PROFESSIONS, AGREEMENTS_BY_GENDER, _EVEN_TENSES))
_WEATHER_FORMS = tuple(product(WEATHER, _EVEN_TENSES))
_TIMETABLE_FORMS = tuple(
    (verb, event, tense)
    for verbs, events in TIMETABLE.items()
    for verb, event, tense in product(verbs, events, (*_TENSES, "past", "past"))
)
_SPOTS = tuple(
    (preposition, noun)
    for nouns, prepositions in PREPOSITIONS_OF.items()
    for preposition, noun in product(prepositions, nouns)
)
_DESCRIBED = tuple(product(THINGS + ANIMALS, _PLURAL))
_TO_PLACES = VISITING + STAYING + MOVING
_PEOPLE = tuple(
    subject for agreement in AGREEMENTS for subject in agreement if subject.kind == "description"
)
_CELEBRATED = tuple(
    subject
    for agreement in AGREEMENTS
    for subject in agreement
    if subject.kind != "pronoun" and not subject.plural
)
_TODAY = (TODAY,)
_IT = Subject("il", "it", 2)
_DAYS = tuple(range(1, 31))
_CLOCK = (
    ("à midi", "at noon"),
    ("à minuit", "at midnight"),
    *(
        (f"à {hour_fr} {minutes_fr}".strip(), f"at {minutes_en.format(hour_en)}")
        for (hour_fr, hour_en), (minutes_fr, minutes_en) in product(
            HOURS,
            (
                ("", "{} o'clock"),
                ("et quart", "a quarter past {}"),
                ("et demie", "half past {}"),
                ("moins le quart", "a quarter to {}"),
            ),
        )
    ),
)


def visit(draw: Draw) -> Derivation:
    """Jane visite l'Afrique en septembre. — Jane visits Africa in September."""
    return _place_frame(draw, "visit", _VISITING_FORMS)


def stay(draw: Draw) -> Derivation:
    """Est-ce que tu habites au Canada ? — Do you live in Canada?"""
    return _place_frame(draw, "stay", _STAYING_FORMS)


def move(draw: Draw) -> Derivation:
    """Elles sont revenues d'Italie hier. — They came back from Italy yesterday."""
    return _place_frame(draw, "move", _MOVING_FORMS)


def want(draw: Draw) -> Derivation:
    """Pourquoi est-ce que nous devons quitter Paris ? — Why must we leave Paris?"""
    modal, agreement = draw.one(_WANTING_FORMS)
    subject, verb, place = draw.one(agreement), draw.one(_TO_PLACES), draw.one(PLACES)
    mood = draw.one(_MOODS)
    time = _time(draw, IN_MONTH, mood)
    place_fr, place_en = _take_place(verb, place)
    return Derivation(
        "want",
        (subject.fr, verb.infinitive, place.fr),
        *say(
            subject,
            modal,
            "present",
            mood,
            join(verb.infinitive, place_fr, time.fr),
            spaced(verb.en, place_en, time.en),
        ),
    )


def _place_frame(
    draw: Draw, name: str, forms: Sequence[tuple[Action, tuple[Subject, ...], Tense]]
) -> Derivation:
    verb, agreement, tense = draw.one(forms)
    subject, place, mood = draw.one(agreement), draw.one(PLACES), draw.one(_MOODS)
    return _at_place(name, subject, verb, place, tense, mood, _time(draw, TIMES_OF[tense], mood))


def _at_place(
    name: str, subject: Subject, verb: Action, place: Place, tense: Tense, mood: Mood, time: Time
) -> Derivation:
    fr, en = _take_place(verb, place)
    sentence = say(subject, verb, tense, mood, join(fr, time.fr), spaced(en, time.en))
    return Derivation(name, (subject.fr, verb.infinitive, place.fr), *sentence)


def _take_place(verb: Action, place: Place) -> tuple[str, str]:
    """A place as this verb takes it: visiter l'Afrique, habiter en Afrique, revenir d'Afrique."""
    if verb in VISITING:
        return place.itself, place.en
    if verb is RETURN:
        return place.origin, place.en
    return place.inside, f"in {place.en}" if verb in STAYING else place.en


def _time(draw: Draw, times: Sequence[Time], mood: Mood) -> Time:
    """A time, or none: "when" asks for it, and not every sentence tells."""
    return draw.one(times) if mood != "when" and draw.one(_OFTEN) else Time("", "")


def handle(draw: Draw) -> Derivation:
    """Nous ne vendons pas cette vieille horloge. — We do not sell this old clock."""
    verb, agreement, tense = draw.one(_HANDLING_FORMS)
    subject, noun = draw.one(agreement), draw.one(THINGS)
    adjective = draw.one(ADJECTIVES) if draw.one(_OFTEN) else None
    phrase = noun_phrase(draw.one(DETERMINERS), noun, draw.one(_PLURAL), adjective)
    sentence = say(subject, verb, tense, draw.one(_MOODS), *phrase)
    return Derivation("handle", (subject.fr, verb.infinitive, noun.fr), *sentence)


def give(draw: Draw) -> Derivation:
    """Paul a prêté ce vélo au professeur. — Paul lent this bicycle to the teacher."""
    verb, agreement, tense = draw.one(_GIVING_FORMS)
    subject, noun, recipient = draw.one(agreement), draw.one(THINGS), draw.one(_PEOPLE)
    while recipient is subject:
        recipient = draw.one(_PEOPLE)
    fr, en = noun_phrase(draw.one(DETERMINERS), noun, draw.one(_PLURAL))
    sentence = say(
        subject,
        verb,
        tense,
        draw.one(_PLAIN_MOODS),
        join(fr, "à", recipient.fr),
        f"{en} to {recipient.en}",
    )
    return Derivation("give", (subject.fr, verb.infinitive, noun.fr), *sentence)


def speak(draw: Draw) -> Derivation:
    """Ils apprennent l'italien avec ma tante. — They learn Italian with my aunt."""
    verb, agreement, tense = draw.one(_SPEAKING_FORMS)
    subject, companion = draw.one(agreement), draw.one(_PEOPLE)
    while companion is subject:
        companion = draw.one(_PEOPLE)
    language_fr, language_en = draw.one(LANGUAGES)
    sentence = say(
        subject,
        verb,
        tense,
        draw.one(_MOODS),
        join("" if verb is SPEAK else "le", language_fr, "avec", companion.fr),
        f"{language_en} with {companion.en}",
    )
    return Derivation("speak", (subject.fr, verb.infinitive, language_fr), *sentence)


def age(draw: Draw) -> Derivation:
    """Alice aura vingt ans en mai. — Alice will be twenty years old in May."""
    agreement, tense = draw.one(_STATE_FORMS)
    subject, (years_fr, years_en) = draw.one(agreement), draw.one(AGES)
    mood = draw.one(_PLAIN_MOODS)
    time = _time(draw, _TODAY if tense == "present" else IN_MONTH, mood)
    sentence = say(
        subject,
        HAVE_YEARS,
        tense,
        mood,
        join(years_fr, "ans", time.fr),
        spaced(years_en, "years old", time.en),
    )
    return Derivation("age", (subject.fr, "avoir", f"{years_fr} ans"), *sentence)


def possess(draw: Draw) -> Derivation:
    """Je n'ai pas de chat noir. — I do not have a black cat."""
    agreement, tense = draw.one(_STATE_FORMS)
    subject, mood = draw.one(agreement), draw.one(_PLAIN_MOODS)
    noun, phrase = _some(draw, mood)
    sentence = say(subject, HAVE, tense, mood, *phrase)
    return Derivation("possess", (subject.fr, "avoir", noun.fr), *sentence)


def _some(draw: Draw, mood: Mood) -> tuple[Noun, tuple[str, str]]:
    """One thing or several that nobody has spoken of yet; French denies them with a bare "de"."""
    noun, plural = draw.one(_DESCRIBED)
    adjective = draw.one(ADJECTIVES)
    if mood == "negation":
        fr, en = noun_group(noun, False, adjective)
        return noun, (join("de", fr), a(en))
    fr, en = noun_group(noun, plural, adjective)
    if plural:
        number_fr, number_en = draw.one(NUMBERS)
        return noun, (f"{number_fr} {fr}", f"{number_en} {en}")
    return noun, (f"{A.french(noun.gender, False, fr)} {fr}", a(en))


def exist(draw: Draw) -> Derivation:
    """Il n'y a pas d'oiseau bleu dans le jardin. — There is no blue bird in the garden."""
    tense, mood = draw.one(_EVEN_TENSES), draw.one(_PLAIN_MOODS)
    noun, (fr, en) = _some(draw, mood)
    spot, (spot_fr, spot_en) = _spot(draw)
    is_plural = not en.startswith(("a ", "an "))
    there = Subject("il", "there", 5 if is_plural else 2)
    french, _ = say(replace(there, person=2), HAVE, tense, mood, join(fr, spot_fr), "", "y")
    if mood == "negation":
        mood, en = "statement", "no " + en.split(" ", 1)[1]
    _, english = say(there, BE, tense, mood, "", f"{en} {spot_en}")
    return Derivation("exist", (noun.fr, "il y a", spot), french, english)


def _spot(draw: Draw) -> tuple[str, tuple[str, str]]:
    """Somewhere near at hand: près de l'hôtel, near the hotel."""
    (preposition_fr, preposition_en), noun = draw.one(_SPOTS)
    fr, en = noun_phrase(THE, noun, False)
    return f"{preposition_fr} {noun.fr}", (join(preposition_fr, fr), f"{preposition_en} {en}")


def locate(draw: Draw) -> Derivation:
    """Où est ma petite clé ? — Where is my small key?

    Mes clés sont sous le lit. — My keys are under the bed.
    """
    tense, mood = draw.one(_EVEN_TENSES), draw.one(_PLAIN_MOODS)
    noun, plural = draw.one(_DESCRIBED)
    if not draw.one(_SELDOM):
        thing = _thing(*noun_phrase(draw.one(DETERMINERS), noun, plural), plural)
        spot, phrase = _spot(draw)
        return Derivation("locate", (noun.fr, "être", spot), *say(thing, BE, tense, mood, *phrase))
    adjective = draw.one(ADJECTIVES)
    thing = _thing(*noun_phrase(draw.one(DETERMINERS), noun, plural, adjective), plural)
    form_fr, _ = french_verb(thing, BE, tense)
    auxiliary, base, _ = english_verb(thing, BE, tense)
    return Derivation(
        "locate",
        (noun.fr, "où", adjective.fr),
        sentence_fr(join("où", form_fr, thing.fr), "?"),
        sentence_en(spaced("where", auxiliary, thing.en, base), "?"),
    )


def _thing(fr: str, en: str, plural: bool) -> Subject:
    return Subject(fr, en, 5 if plural else 2)


def price(draw: Draw) -> Derivation:
    """Combien coûtent ces livres ? — How much do these books cost?

    Cette lampe verte coûte 30 euros. — This green lamp costs 30 euros.
    """
    tense, mood = draw.one(_EVEN_TENSES), draw.one(_PLAIN_MOODS)
    noun, plural = draw.one(_DESCRIBED)
    adjective, euros = draw.one(ADJECTIVES), draw.one(PRICES)
    thing = _thing(*noun_phrase(draw.one(DETERMINERS), noun, plural, adjective), plural)
    if not draw.one(_SELDOM):
        sentence = say(thing, COST, tense, mood, f"{euros} euros", f"{euros} euros")
        return Derivation("price", (noun.fr, "coûter", str(euros)), *sentence)
    form_fr, _ = french_verb(thing, COST, tense)
    auxiliary, base, _ = english_verb(thing, COST, tense)
    return Derivation(
        "price",
        (noun.fr, "combien", adjective.fr),
        sentence_fr(join("combien", form_fr, thing.fr), "?"),
        sentence_en(spaced("how much", auxiliary, thing.en, base), "?"),
    )


def quality(draw: Draw) -> Derivation:
    """Mes sœurs étaient fatiguées hier. — My sisters were tired yesterday."""
    adjective, agreement, tense = draw.one(_FEELING_FORMS)
    subject, mood = draw.one(agreement), draw.one(_MOODS)
    time = _time(draw, DAYS_OF[tense], mood)
    fr = adjective.french(subject.gender, subject.plural)
    sentence = say(subject, BE, tense, mood, join(fr, time.fr), spaced(adjective.en, time.en))
    return Derivation("quality", (subject.fr, "être", adjective.fr), *sentence)


def profession(draw: Draw) -> Derivation:
    """Est-ce que Marie est avocate ? — Is Marie a lawyer?"""
    work, agreement, tense = draw.one(_PROFESSION_FORMS)
    subject, mood, place = draw.one(agreement), draw.one(_PLAIN_MOODS), draw.one(PLACES)
    sentence = say(
        subject,
        BE,
        tense,
        mood,
        f"{work.french(subject)} {place.inside}",
        f"{work.english(subject)} in {place.en}",
    )
    return Derivation("profession", (subject.fr, "être", work.fr), *sentence)


def timetable(draw: Draw) -> Derivation:
    """Les trains partent à huit heures et demie. — The trains leave at half past eight."""
    verb, event, tense = draw.one(_TIMETABLE_FORMS)
    clock_fr, clock_en = draw.one(_CLOCK)
    sentence = say(event, verb, tense, draw.one(_PLAIN_MOODS), clock_fr, clock_en)
    return Derivation("timetable", (event.fr, verb.infinitive, clock_fr), *sentence)


def weather(draw: Draw) -> Derivation:
    """Il fera froid à Berlin en janvier. — It will be cold in Berlin in January."""
    (verb, fr, en), tense = draw.one(_WEATHER_FORMS)
    place, time = draw.one(PLACES), draw.one(TIMES_OF[tense])
    sentence = say(
        _IT,
        verb,
        tense,
        draw.one(_PLAIN_MOODS),
        join(fr, place.inside, time.fr),
        spaced(en, "in", place.en, time.en),
    )
    return Derivation("weather", (fr or verb.infinitive, place.fr, time.fr), *sentence)


def birthday(draw: Draw) -> Derivation:
    """L'anniversaire de mon frère est le 12 mai. — My brother's birthday is on 12 May."""
    person, (month_fr, month_en) = draw.one(_CELEBRATED), draw.one(MONTHS)
    day = draw.one(_DAYS)
    feast = Subject(join("le anniversaire de", person.fr), f"{person.en}'s birthday", 2)
    sentence = say(
        feast,
        BE,
        "present",
        draw.one(_PLAIN_MOODS),
        f"le {'1er' if day == 1 else day} {month_fr}",
        f"on {day} {month_en}",
    )
    return Derivation("birthday", (person.fr, "anniversaire", month_fr), *sentence)


FRAMES: tuple[Callable[[Draw], Derivation], ...] = (
    visit,
    stay,
    move,
    want,
    handle,
    give,
    speak,
    age,
    possess,
    exist,
    locate,
    price,
    quality,
    profession,
    timetable,
    weather,
    birthday,
)
LECTURE = _at_place("visit", JANE, VISIT, AFRICA, "present", "statement", IN_SEPTEMBER)

# --------------------------------------------------------------------------------------------------
# The corpus
# --------------------------------------------------------------------------------------------------

SIZE = 30_000
_PATIENCE = 100_000  # draws in a row without a new sentence before the grammar counts as exhausted


def derive(size: int, seed: int) -> dict[Split, list[Derivation]]:
    """Distinct sentences, frame by frame in turn, each in the split that owns its composition.

    One sentence in 24 goes to test and one in 48 to valid, but never more than 1,000 and 500. The
    lecture's sentence opens the test.

    Raises:
        ConfigError: the size leaves a split empty, or is more than the grammar can say.
    """
    room: dict[Split, int] = {"valid": min(size // 48, 500), "test": min(size // 24, 1000)}
    room["train"] = size - room["valid"] - room["test"]
    if not room["valid"]:
        raise ConfigError(f"size = {size:,} is too small for a phrasebook; use 48 or more")
    splits: dict[Split, list[Derivation]] = {"train": [], "valid": [], "test": [LECTURE]}
    seen = {LECTURE.french}
    draw = Draw(seed)
    idle = 0
    while any(len(splits[name]) < room[name] for name in room):
        for frame in FRAMES:
            derivation = frame(draw)
            split = derivation.split
            if derivation.french in seen or len(splits[split]) == room[split]:
                idle += 1
                continue
            idle = 0
            seen.add(derivation.french)
            splits[split].append(derivation)
        if idle > _PATIENCE:
            said = sum(map(len, splits.values()))
            raise ConfigError(f"size = {size:,} is more than the grammar says; try {said:,}")
    return splits


def phrasebook(*, size: int = SIZE, seed: int = 0) -> Splits:
    """The corpus: a pure function of size (all three splits together) and seed."""
    splits = derive(size, seed)
    return Splits(
        train=[derivation.example for derivation in splits["train"]],
        valid=[derivation.example for derivation in splits["valid"]],
        test=[derivation.example for derivation in splits["test"]],
    )


def lexicon() -> dict[str, str]:
    """French words and their English, as a pocket dictionary lists them.

    Each form stands for itself ("visitons": visit). A word of many uses has its commonest one
    ("en": in); a word that English does not say has an empty one ("ne").
    """
    entries = dict(FUNCTION_WORDS)
    for french, english in _dictionary():
        entries.setdefault(french, english)
    return entries


def _dictionary() -> Iterator[tuple[str, str]]:
    for state in (BE, HAVE, COST, *(verb for verb, *_ in WEATHER)):
        yield from ((form, state.en_past) for form in state.imperfect if form)
        yield from ((form, f"will {state.en}") for form in state.future if form)
        yield state.present[2], state.en_s
        yield from ((form, state.en) for form in state.present if form)
    timetabled = tuple(verb for verbs in TIMETABLE for verb in verbs)
    for action in (*_TO_PLACES, *HANDLING, *GIVING, *SPEAKING, *WANTING, *timetabled):
        yield action.infinitive, action.en
        yield action.present[2], action.en_s
        yield from ((form, action.en) for form in action.present)
        for agreement in ("", "e", "s", "es") if action.takes_etre else ("",):
            yield action.participle + agreement, action.en_past
    for noun, plural in product((*THINGS, *ANIMALS, *FURNITURE, *BUILDINGS), _PLURAL):
        yield noun.french(plural), noun.english(plural)
    for adjective, gender, plural in product((*ADJECTIVES, *FEELINGS), _GENDERS, _PLURAL):
        yield adjective.french(gender, plural), adjective.en
        yield adjective.french(gender, plural, following="a"), adjective.en
    for work in PROFESSIONS:
        for singular in (work.fr, work.feminine):
            yield singular, work.en
            yield singular + "s", f"{work.en}s"
    events = tuple(event for events in TIMETABLE.values() for event in events)
    for subject in (*chain.from_iterable(AGREEMENTS), *events):
        # The noun is the last word in both languages: "l'étudiant", "the student".
        yield re.split("[ ']", subject.fr)[-1], subject.en.split()[-1]
    yield from ((place.fr, place.en.removeprefix("the ")) for place in PLACES)
    yield from (*LANGUAGES, *MONTHS, *NUMBERS, *AGES)
    yield from ((fr, en) for _, fr, en in WEATHER if fr)
