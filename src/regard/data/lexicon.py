"""The words of the phrasebook and how they change: agreement, conjugation, elision.

Every entry is a small dataclass that knows its French and its English. To teach the phrasebook a
new word, add an entry to one of the tuples; nothing else has to change.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal

Gender = Literal["m", "f"]
Tense = Literal["present", "past", "future"]

# --------------------------------------------------------------------------------------------------
# Spelling rules
# --------------------------------------------------------------------------------------------------

_VOWEL = "aàâeéèêiîoôuûhœ"  # every h in this lexicon is mute
_ELISION = re.compile(rf"\b(je|ne|que|le|la|de) (?=[{_VOWEL}]|y )", re.IGNORECASE)
_CONTRACTIONS = (("à le ", "au "), ("à les ", "aux "), ("de le ", "du "), ("de les ", "des "))


def starts_with_vowel(french: str) -> bool:
    return french[0].lower() in _VOWEL


def join(*words: str) -> str:
    """Join French words as they are written: je aime → j'aime, à le Canada → au Canada.

    Elision comes first, so that "de le hôtel" becomes "de l'hôtel" and not "du hôtel".
    """
    text = " ".join(word for word in words if word)
    text = _ELISION.sub(lambda match: match[1][:-1] + "'", text)
    for apart, together in _CONTRACTIONS:
        text = re.sub(rf"(?<!\w){apart}", together, text)
    return text


def a(english: str) -> str:
    """Put a or an before an English phrase."""
    return f"an {english}" if english[0] in "aeiou" else f"a {english}"


def _regular_plural(english: str) -> str:
    return english + ("es" if english.endswith(("s", "x", "ch", "sh")) else "s")


# --------------------------------------------------------------------------------------------------
# Nouns, adjectives, determiners
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Noun:
    """A common noun; plurals are given only where they are irregular."""

    fr: str
    en: str
    gender: Gender
    irregular_fr: str = ""
    irregular_en: str = ""

    def french(self, plural: bool) -> str:
        return (self.irregular_fr or self.fr + "s") if plural else self.fr

    def english(self, plural: bool) -> str:
        return (self.irregular_en or _regular_plural(self.en)) if plural else self.en


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective with its feminine, and where it stands in a French noun phrase.

    Some masculine forms change before a vowel (un beau jardin, un bel oiseau).
    """

    fr: str
    en: str
    feminine: str
    before_noun: bool = False
    before_vowel: str = ""
    irregular_plural: str = ""

    def french(self, gender: Gender, plural: bool, following: str = "") -> str:
        if gender == "f":
            return self.feminine + "s" * plural
        if plural:
            return self.irregular_plural or self.fr + "s" * (self.fr[-1] not in "sx")
        if self.before_vowel and following and starts_with_vowel(following):
            return self.before_vowel
        return self.fr


@dataclass(frozen=True, slots=True)
class Determiner:
    """A determiner; one gender may borrow before a vowel (cet hôtel, mon échelle)."""

    masculine: str
    feminine: str
    plural: str
    en: str
    en_plural: str
    masculine_vowel: str = ""
    feminine_vowel: str = ""

    def french(self, gender: Gender, plural: bool, following: str) -> str:
        if plural:
            return self.plural
        usual, borrowed = (
            (self.masculine, self.masculine_vowel)
            if gender == "m"
            else (self.feminine, self.feminine_vowel)
        )
        return borrowed if borrowed and starts_with_vowel(following) else usual

    def english(self, plural: bool) -> str:
        return self.en_plural if plural else self.en


A = Determiner("un", "une", "", "a", "")
THE = Determiner("le", "la", "les", "the", "the")
THIS = Determiner("ce", "cette", "ces", "this", "these", masculine_vowel="cet")
MY = Determiner("mon", "ma", "mes", "my", "my", feminine_vowel="mon")
YOUR = Determiner("ton", "ta", "tes", "your", "your", feminine_vowel="ton")
OUR = Determiner("notre", "notre", "nos", "our", "our")
DETERMINERS = (THE, THIS, MY, YOUR, OUR)

ADJECTIVES = (
    Adjective("petit", "small", "petite", before_noun=True),
    Adjective("grand", "big", "grande", before_noun=True),
    Adjective("beau", "beautiful", "belle", True, before_vowel="bel", irregular_plural="beaux"),
    Adjective("vieux", "old", "vieille", True, before_vowel="vieil"),
    Adjective("nouveau", "new", "nouvelle", True, "nouvel", "nouveaux"),
    Adjective("rouge", "red", "rouge"),
    Adjective("noir", "black", "noire"),
    Adjective("blanc", "white", "blanche"),
    Adjective("vert", "green", "verte"),
    Adjective("bleu", "blue", "bleue"),
    Adjective("gris", "grey", "grise"),
    Adjective("étrange", "strange", "étrange"),
)

THINGS = (
    Noun("livre", "book", "m"),
    Noun("montre", "watch", "f"),
    Noun("vélo", "bicycle", "m"),
    Noun("chapeau", "hat", "m", "chapeaux"),
    Noun("lampe", "lamp", "f"),
    Noun("clé", "key", "f"),
    Noun("sac", "bag", "m"),
    Noun("ordinateur", "computer", "m"),
    Noun("photo", "photo", "f"),
    Noun("veste", "jacket", "f"),
    Noun("valise", "suitcase", "f"),
    Noun("parapluie", "umbrella", "m"),
    Noun("horloge", "clock", "f"),
    Noun("album", "album", "m"),
    Noun("anneau", "ring", "m", "anneaux"),
    Noun("instrument", "instrument", "m"),
    Noun("assiette", "plate", "f"),
    Noun("échelle", "ladder", "f"),
)
ANIMALS = (
    Noun("chat", "cat", "m"),
    Noun("chien", "dog", "m"),
    Noun("oiseau", "bird", "m", "oiseaux"),
    Noun("cheval", "horse", "m", "chevaux"),
    Noun("vache", "cow", "f"),
    Noun("souris", "mouse", "f", "souris", "mice"),
    Noun("tortue", "tortoise", "f"),
    Noun("araignée", "spider", "f"),
)
FURNITURE = (
    Noun("table", "table", "f"),
    Noun("lit", "bed", "m"),
    Noun("bureau", "desk", "m"),
    Noun("armoire", "wardrobe", "f"),
)
BUILDINGS = (
    Noun("maison", "house", "f"),
    Noun("école", "school", "f"),
    Noun("gare", "station", "f"),
    Noun("hôtel", "hotel", "m"),
    Noun("église", "church", "f"),
    Noun("musée", "museum", "m"),
    Noun("jardin", "garden", "m"),
    Noun("hôpital", "hospital", "m"),
    Noun("restaurant", "restaurant", "m"),
    Noun("cuisine", "kitchen", "f"),
)
PREPOSITIONS_OF = {
    FURNITURE: (("sur", "on"), ("sous", "under")),
    BUILDINGS: (
        ("dans", "in"),
        ("devant", "in front of"),
        ("derrière", "behind"),
        ("près de", "near"),
    ),
}


def noun_phrase(
    determiner: Determiner, noun: Noun, plural: bool, adjective: Adjective | None = None
) -> tuple[str, str]:
    """Determiner, adjective and noun in agreement: "cet oiseau bleu", "this blue bird"."""
    core_fr, core_en = noun_group(noun, plural, adjective)
    french = join(determiner.french(noun.gender, plural, core_fr), core_fr)
    return french, f"{determiner.english(plural)} {core_en}"


def noun_group(noun: Noun, plural: bool, adjective: Adjective | None = None) -> tuple[str, str]:
    """Adjective and noun without a determiner: "vieux livres", "old books"."""
    french, english = noun.french(plural), noun.english(plural)
    if adjective is None:
        return french, english
    if adjective.before_noun:
        french = f"{adjective.french(noun.gender, plural, french)} {french}"
    else:
        french = f"{french} {adjective.french(noun.gender, plural)}"
    return french, f"{adjective.en} {english}"


# --------------------------------------------------------------------------------------------------
# Subjects
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subject:
    """Who or what does it, with all that a verb or an adjective must agree with.

    Attributes:
        person: 0 to 5 for je, tu, il/elle, nous, vous, ils/elles.
        gender: je and tu are men, nous and vous are several people, men among them.
    """

    fr: str
    en: str
    person: int
    gender: Gender = "m"
    kind: Literal["pronoun", "name", "description"] = "description"

    @property
    def plural(self) -> bool:
        return self.person >= 3


# One tuple for each agreement. A frame draws the agreement first and then who it is, so that
# "ils" and "tu" are as frequent as "il" and no form of a verb is rare.
JANE = Subject("Jane", "Jane", 2, "f", "name")
AGREEMENTS: tuple[tuple[Subject, ...], ...] = (
    (Subject("je", "I", 0, kind="pronoun"),),
    (Subject("tu", "you", 1, kind="pronoun"),),
    (
        Subject("il", "he", 2, kind="pronoun"),
        Subject("Paul", "Paul", 2, kind="name"),
        Subject("Pierre", "Pierre", 2, kind="name"),
        Subject("Louis", "Louis", 2, kind="name"),
        Subject("Arthur", "Arthur", 2, kind="name"),
        Subject("mon frère", "my brother", 2),
        Subject("ton père", "your father", 2),
        Subject("notre voisin", "our neighbour", 2),
        Subject("le professeur", "the teacher", 2),
        Subject("l'étudiant", "the student", 2),
    ),
    (
        Subject("elle", "she", 2, "f", kind="pronoun"),
        JANE,
        Subject("Marie", "Marie", 2, "f", "name"),
        Subject("Léa", "Léa", 2, "f", "name"),
        Subject("Alice", "Alice", 2, "f", "name"),
        Subject("ma sœur", "my sister", 2, "f"),
        Subject("ta mère", "your mother", 2, "f"),
        Subject("notre voisine", "our neighbour", 2, "f"),
        Subject("ma tante", "my aunt", 2, "f"),
        Subject("l'étudiante", "the student", 2, "f"),
    ),
    (Subject("nous", "we", 3, kind="pronoun"),),
    (Subject("vous", "you", 4, kind="pronoun"),),
    (
        Subject("ils", "they", 5, kind="pronoun"),
        Subject("mes frères", "my brothers", 5),
        Subject("tes parents", "your parents", 5),
        Subject("nos voisins", "our neighbours", 5),
        Subject("les enfants", "the children", 5),
        Subject("les étudiants", "the students", 5),
        Subject("Paul et Marie", "Paul and Marie", 5, kind="name"),
    ),
    (
        Subject("elles", "they", 5, "f", kind="pronoun"),
        Subject("mes sœurs", "my sisters", 5, "f"),
        Subject("tes filles", "your daughters", 5, "f"),
        Subject("nos voisines", "our neighbours", 5, "f"),
        Subject("mes tantes", "my aunts", 5, "f"),
        Subject("les étudiantes", "the students", 5, "f"),
        Subject("Jane et Alice", "Jane and Alice", 5, "f", "name"),
    ),
)

# The same agreements, weighted so that all four forms of an adjective are equally frequent.
_HERS, _THEIRS = AGREEMENTS[3], AGREEMENTS[7]
AGREEMENTS_BY_GENDER = AGREEMENTS + 2 * (_HERS, _THEIRS)

FEELINGS = (
    Adjective("content", "pleased", "contente"),
    Adjective("fatigué", "tired", "fatiguée"),
    Adjective("malade", "ill", "malade"),
    Adjective("prêt", "ready", "prête"),
    Adjective("triste", "sad", "triste"),
    Adjective("occupé", "busy", "occupée"),
    Adjective("heureux", "happy", "heureuse"),
    Adjective("inquiet", "worried", "inquiète"),
)


@dataclass(frozen=True, slots=True)
class Profession:
    """What someone is; French says it without an article: "Elle est avocate."."""

    fr: str
    en: str
    feminine: str

    def french(self, subject: Subject) -> str:
        return (self.fr if subject.gender == "m" else self.feminine) + "s" * subject.plural

    def english(self, subject: Subject) -> str:
        return _regular_plural(self.en) if subject.plural else a(self.en)


PROFESSIONS = (
    Profession("médecin", "doctor", "médecin"),
    Profession("avocat", "lawyer", "avocate"),
    Profession("acteur", "actor", "actrice"),
    Profession("boulanger", "baker", "boulangère"),
    Profession("architecte", "architect", "architecte"),
    Profession("musicien", "musician", "musicienne"),
    Profession("vendeur", "shop assistant", "vendeuse"),
)

# --------------------------------------------------------------------------------------------------
# Verbs
# --------------------------------------------------------------------------------------------------

Persons = tuple[str, str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class Action:
    """A verb of doing: present, passé composé and futur proche.

        visite, a visité, va visiter — visits, visited, is going to visit

    Attributes:
        takes_etre: the passé composé is built with être, and its participle agrees.
        is_modal: the English verb stands alone: can, cannot, can you?
    """

    infinitive: str
    present: Persons
    participle: str
    en: str
    en_s: str
    en_past: str
    takes_etre: bool = False
    is_modal: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """A verb of being: present, imperfect and simple future.

    est, était, sera — is, was, will be
    """

    infinitive: str
    present: Persons
    imperfect: Persons
    future: Persons
    en: str
    en_s: str
    en_past: str


def _er(
    infinitive: str,
    en: str,
    en_past: str = "",
    *,
    strong: str = "",
    nous: str = "",
    takes_etre: bool = False,
) -> Action:
    """A verb in -er; the strong stem is the one stressed: j'achète, but nous achetons."""
    stem = infinitive.removesuffix("er")
    stressed = strong or stem
    present = (
        stressed + "e",
        stressed + "es",
        stressed + "e",
        nous or stem + "ons",
        stem + "ez",
        stressed + "ent",
    )
    past = en_past or _regular_past(en)
    return Action(infinitive, present, stem + "é", en, _third_person(en), past, takes_etre)


def _third_person(english: str) -> str:
    verb, _, rest = english.partition(" ")
    if verb.endswith(("ch", "sh", "ss", "o")):
        verb += "es"
    elif re.search("[^aeiou]y$", verb):
        verb = verb[:-1] + "ies"
    else:
        verb += "s"
    return f"{verb} {rest}".strip()


def _regular_past(english: str) -> str:
    verb, _, rest = english.partition(" ")
    if re.search("[^aeiou]y$", verb):
        verb = verb[:-1] + "ied"
    else:
        verb += "d" if verb.endswith("e") else "ed"
    return f"{verb} {rest}".strip()


VISIT = _er("visiter", "visit")
VISITING = (
    VISIT,
    Action(
        "découvrir",
        ("découvre", "découvres", "découvre", "découvrons", "découvrez", "découvrent"),
        "découvert",
        "discover",
        "discovers",
        "discovered",
    ),
    _er("quitter", "leave", "left"),
    _er("traverser", "cross"),
)
STAYING = (
    _er("habiter", "live"),
    _er("travailler", "work"),
    _er("étudier", "study"),
    _er("voyager", "travel", "travelled", nous="voyageons"),
)
GO = Action(
    "aller",
    ("vais", "vas", "va", "allons", "allez", "vont"),
    "allé",
    "go to",
    "goes to",
    "went to",
    takes_etre=True,
)
RETURN = Action(
    "revenir",
    ("reviens", "reviens", "revient", "revenons", "revenez", "reviennent"),
    "revenu",
    "come back from",
    "comes back from",
    "came back from",
    takes_etre=True,
)
MOVING = (GO, RETURN, _er("arriver", "arrive in", takes_etre=True))
HANDLING = (
    _er("acheter", "buy", "bought", strong="achèt"),
    Action(
        "vendre",
        ("vends", "vends", "vend", "vendons", "vendez", "vendent"),
        "vendu",
        "sell",
        "sells",
        "sold",
    ),
    _er("chercher", "look for"),
    _er("trouver", "find", "found"),
)
GIVING = (
    _er("donner", "give", "gave"),
    _er("montrer", "show"),
    _er("envoyer", "send", "sent", strong="envoi"),
    _er("prêter", "lend", "lent"),
)
SPEAK = _er("parler", "speak", "spoke")
SPEAKING = (
    SPEAK,
    Action(
        "apprendre",
        ("apprends", "apprends", "apprend", "apprenons", "apprenez", "apprennent"),
        "appris",
        "learn",
        "learns",
        "learned",
    ),
    _er("pratiquer", "practise"),
    _er("enseigner", "teach", "taught"),
)
CAN = Action(
    "pouvoir", ("peux", "peux", "peut", "pouvons", "pouvez", "peuvent"), "pu", "can", "can", "",
    is_modal=True,
)  # fmt: skip
MUST = Action(
    "devoir", ("dois", "dois", "doit", "devons", "devez", "doivent"), "dû", "must", "must", "",
    is_modal=True,
)  # fmt: skip
WANTING = (
    Action(
        "vouloir",
        ("veux", "veux", "veut", "voulons", "voulez", "veulent"),
        "voulu",
        "want to",
        "wants to",
        "wanted to",
    ),
    _er("espérer", "hope to", strong="espèr"),
    CAN,
    MUST,
)

BE = State(
    "être",
    ("suis", "es", "est", "sommes", "êtes", "sont"),
    ("étais", "étais", "était", "étions", "étiez", "étaient"),
    ("serai", "seras", "sera", "serons", "serez", "seront"),
    "be",
    "is",
    "was",
)
HAVE = State(
    "avoir",
    ("ai", "as", "a", "avons", "avez", "ont"),
    ("avais", "avais", "avait", "avions", "aviez", "avaient"),
    ("aurai", "auras", "aura", "aurons", "aurez", "auront"),
    "have",
    "has",
    "had",
)

HAVE_YEARS = replace(HAVE, en="be", en_s="is", en_past="was")  # elle a vingt ans, she is twenty


def _impersonal(infinitive: str, fr: tuple[str, str, str], en: tuple[str, str, str]) -> State:
    """A verb that is only ever used with an impersonal il: il pleut."""
    present, imperfect, future = (("", "", form, "", "", "") for form in fr)
    return State(infinitive, present, imperfect, future, *en)


COST = State(
    "coûter",
    ("coûte", "coûtes", "coûte", "coûtons", "coûtez", "coûtent"),
    ("coûtais", "coûtais", "coûtait", "coûtions", "coûtiez", "coûtaient"),
    ("coûterai", "coûteras", "coûtera", "coûterons", "coûterez", "coûteront"),
    "cost",
    "costs",
    "cost",
)
MAKE_WEATHER = _impersonal("faire", ("fait", "faisait", "fera"), ("be", "is", "was"))
WEATHER = (
    (MAKE_WEATHER, "chaud", "hot"),
    (MAKE_WEATHER, "froid", "cold"),
    (MAKE_WEATHER, "frais", "cool"),
    (MAKE_WEATHER, "doux", "mild"),
    (
        _impersonal("pleuvoir", ("pleut", "pleuvait", "pleuvra"), ("rain", "rains", "rained")),
        "",
        "",
    ),
    (_impersonal("neiger", ("neige", "neigeait", "neigera"), ("snow", "snows", "snowed")), "", ""),
)

# --------------------------------------------------------------------------------------------------
# Places and times
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """A continent, a country or a city; its kind decides its article and its prepositions.

    kind    the place          in or to it     from it
    f       l'Afrique          en Afrique      d'Afrique
    m       le Canada          au Canada       du Canada
    plural  les États-Unis     aux États-Unis  des États-Unis
    city    Paris              à Paris         de Paris
    """

    fr: str
    en: str
    kind: Literal["f", "m", "plural", "city"]

    @property
    def itself(self) -> str:
        return join({"f": "la", "m": "le", "plural": "les", "city": ""}[self.kind], self.fr)

    @property
    def inside(self) -> str:
        return join({"f": "en", "m": "au", "plural": "aux", "city": "à"}[self.kind], self.fr)

    @property
    def origin(self) -> str:
        return join({"f": "de", "m": "du", "plural": "des", "city": "de"}[self.kind], self.fr)


AFRICA = Place("Afrique", "Africa", "f")
PLACES = (
    AFRICA,
    Place("Asie", "Asia", "f"),
    Place("Europe", "Europe", "f"),
    Place("France", "France", "f"),
    Place("Italie", "Italy", "f"),
    Place("Espagne", "Spain", "f"),
    Place("Allemagne", "Germany", "f"),
    Place("Chine", "China", "f"),
    Place("Canada", "Canada", "m"),
    Place("Japon", "Japan", "m"),
    Place("Brésil", "Brazil", "m"),
    Place("Portugal", "Portugal", "m"),
    Place("Maroc", "Morocco", "m"),
    Place("Sénégal", "Senegal", "m"),
    Place("États-Unis", "the United States", "plural"),
    Place("Pays-Bas", "the Netherlands", "plural"),
    Place("Paris", "Paris", "city"),
    Place("Londres", "London", "city"),
    Place("Rome", "Rome", "city"),
    Place("Berlin", "Berlin", "city"),
    Place("Montréal", "Montreal", "city"),
    Place("Lisbonne", "Lisbon", "city"),
)

LANGUAGES = (
    ("français", "French"),
    ("anglais", "English"),
    ("allemand", "German"),
    ("espagnol", "Spanish"),
    ("italien", "Italian"),
    ("portugais", "Portuguese"),
    ("chinois", "Chinese"),
    ("japonais", "Japanese"),
)


@dataclass(frozen=True, slots=True)
class Time:
    """When it happens, and with which tenses that can be said."""

    fr: str
    en: str
    tenses: tuple[Tense, ...] = ("present", "past", "future")


MONTHS = (
    ("janvier", "January"),
    ("février", "February"),
    ("mars", "March"),
    ("avril", "April"),
    ("mai", "May"),
    ("juin", "June"),
    ("juillet", "July"),
    ("août", "August"),
    ("septembre", "September"),
    ("octobre", "October"),
    ("novembre", "November"),
    ("décembre", "December"),
)
IN_MONTH = tuple(Time(f"en {fr}", f"in {en}") for fr, en in MONTHS)
IN_SEPTEMBER = IN_MONTH[8]
TIMES = (
    *IN_MONTH,
    Time("en été", "in summer"),
    Time("en hiver", "in winter"),
    Time("au printemps", "in spring"),
    Time("chaque année", "every year", ("present",)),
    Time("chaque semaine", "every week", ("present",)),
    Time("hier", "yesterday", ("past",)),
    Time("l'année dernière", "last year", ("past",)),
    Time("la semaine dernière", "last week", ("past",)),
    Time("demain", "tomorrow", ("future",)),
    Time("l'année prochaine", "next year", ("future",)),
    Time("la semaine prochaine", "next week", ("future",)),
)
TODAY = Time("aujourd'hui", "today", ("present", "future"))
DAYS = (
    TODAY,
    Time("ce soir", "tonight", ("present", "future")),
    Time("en été", "in summer"),
    Time("en hiver", "in winter"),
    Time("hier", "yesterday", ("past",)),
    Time("hier soir", "last night", ("past",)),
    Time("la semaine dernière", "last week", ("past",)),
    Time("demain", "tomorrow", ("future",)),
)


def _by_tense(times: tuple[Time, ...]) -> dict[Tense, tuple[Time, ...]]:
    tenses: tuple[Tense, ...] = ("present", "past", "future")
    return {tense: tuple(time for time in times if tense in time.tenses) for tense in tenses}


TIMES_OF = _by_tense(TIMES)
DAYS_OF = _by_tense(DAYS)

# --------------------------------------------------------------------------------------------------
# Numbers and the clock
# --------------------------------------------------------------------------------------------------

NUMBERS = (
    ("deux", "two"),
    ("trois", "three"),
    ("quatre", "four"),
    ("cinq", "five"),
    ("six", "six"),
    ("sept", "seven"),
    ("huit", "eight"),
    ("neuf", "nine"),
    ("dix", "ten"),
    ("onze", "eleven"),
    ("douze", "twelve"),
)
AGES = (
    *NUMBERS[8:],
    ("treize", "thirteen"),
    ("quatorze", "fourteen"),
    ("quinze", "fifteen"),
    ("seize", "sixteen"),
    ("vingt", "twenty"),
    ("vingt-cinq", "twenty-five"),
    ("trente", "thirty"),
    ("trente-cinq", "thirty-five"),
    ("quarante", "forty"),
    ("cinquante", "fifty"),
    ("soixante", "sixty"),
)
PRICES = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 75, 80, 90, 100, 200, 500)
HOURS = (("une heure", "one"), *((f"{fr} heures", en) for fr, en in NUMBERS[:-1]))


_FROM_TO = (
    Action(
        "partir",
        ("pars", "pars", "part", "partons", "partez", "partent"),
        "parti",
        "leave",
        "leaves",
        "left",
        takes_etre=True,
    ),
    _er("arriver", "arrive", takes_etre=True),
)
_BEGIN_END = (
    _er("commencer", "begin", "began", nous="commençons"),
    Action(
        "finir",
        ("finis", "finis", "finit", "finissons", "finissez", "finissent"),
        "fini",
        "end",
        "ends",
        "ended",
    ),
)
_OPEN_CLOSE = (
    Action(
        "ouvrir",
        ("ouvre", "ouvres", "ouvre", "ouvrons", "ouvrez", "ouvrent"),
        "ouvert",
        "open",
        "opens",
        "opened",
    ),
    _er("fermer", "close"),
)
TIMETABLE = {
    _FROM_TO: (
        Subject("le train", "the train", 2),
        Subject("l'avion", "the plane", 2),
        Subject("les bateaux", "the boats", 5),
        Subject("les trains", "the trains", 5),
    ),
    _BEGIN_END: (
        Subject("le film", "the film", 2),
        Subject("la réunion", "the meeting", 2, "f"),
        Subject("les concerts", "the concerts", 5),
        Subject("les leçons", "the lessons", 5, "f"),
    ),
    _OPEN_CLOSE: (
        Subject("la banque", "the bank", 2, "f"),
        Subject("le marché", "the market", 2),
        Subject("les magasins", "the shops", 5),
        Subject("les cafés", "the cafés", 5),
    ),
}

FUNCTION_WORDS = {
    "je": "I",
    "j'": "I",
    "il": "he",
    "le": "the",
    "la": "the",
    "les": "the",
    "l'": "the",
    "un": "a",
    "une": "a",
    "ce": "this",
    "cet": "this",
    "cette": "this",
    "ces": "these",
    "mon": "my",
    "ma": "my",
    "mes": "my",
    "ton": "your",
    "ta": "your",
    "tes": "your",
    "notre": "our",
    "nos": "our",
    "ne": "",
    "n'": "",
    "pas": "not",
    "est-ce": "",
    "que": "",
    "qu'": "",
    "pourquoi": "why",
    "quand": "when",
    "où": "where",
    "combien": "how much",
    "et": "and",
    "avec": "with",
    "à": "to",
    "au": "in",
    "aux": "in",
    "en": "in",
    "dans": "in",
    "sur": "on",
    "sous": "under",
    "devant": "in front of",
    "derrière": "behind",
    "près": "near",
    "de": "from",
    "d'": "from",
    "du": "from",
    "des": "from",
    "y": "there",
    "été": "summer",
    "hiver": "winter",
    "printemps": "spring",
    "chaque": "every",
    "année": "year",
    "semaine": "week",
    "dernière": "last",
    "prochaine": "next",
    "aujourd'hui": "today",
    "soir": "night",
    "hier": "yesterday",
    "demain": "tomorrow",
    "ans": "years old",
    "euros": "euros",
    "heure": "o'clock",
    "heures": "o'clock",
    "midi": "noon",
    "minuit": "midnight",
    "quart": "a quarter",
    "demie": "half",
    "moins": "to",
    "anniversaire": "birthday",
    "1er": "1",
}
