"""One subject and one verb, said in any tense and mood, in French and in English."""

from typing import Literal

from regard.data.lexicon import BE, GO, HAVE, Action, State, Subject, Tense, join

Mood = Literal["statement", "negation", "question", "why", "when"]

_DO = ("do", "do", "does", "do", "do", "do")
_AM = ("am", "are", "is", "are", "are", "are")
_WAS = ("was", "were", "was", "were", "were", "were")
_ASK_FR = {"question": "est-ce que", "why": "pourquoi est-ce que", "when": "quand est-ce que"}
_ASK_EN = {"question": "", "why": "why", "when": "when"}


def say(
    subject: Subject,
    verb: Action | State,
    tense: Tense,
    mood: Mood,
    rest_fr: str,
    rest_en: str,
    particle: str = "",
) -> tuple[str, str]:
    """A full sentence in both languages.

    Args:
        subject: who or what; the verb agrees with it.
        verb: what happens.
        tense: present, past or future.
        mood: a statement, its negation, or a question.
        rest_fr: what follows the verb in French.
        rest_en: what follows the verb in English.
        particle: a word that clings to the French verb, as y in "il n'y a pas".
    """
    conjugated, complement = french_verb(subject, verb, tense)
    negative = mood == "negation"
    clause_fr = join(
        _ASK_FR.get(mood, ""),
        subject.fr,
        "ne" if negative else "",
        particle,
        conjugated,
        "pas" if negative else "",
        complement,
        rest_fr,
    )
    auxiliary, base, finite = english_verb(subject, verb, tense)
    if mood == "statement":
        clause_en = spaced(subject.en, finite, rest_en)
    elif negative:
        not_ = "cannot" if auxiliary == "can" else f"{auxiliary} not"
        clause_en = spaced(subject.en, not_, base, rest_en)
    else:
        clause_en = spaced(_ASK_EN[mood], auxiliary, subject.en, base, rest_en)
    end = "?" if mood in _ASK_FR else "."
    return sentence_fr(clause_fr, end), sentence_en(clause_en, end)


def sentence_fr(clause: str, end: str) -> str:
    """A capital, and before a question mark the space French puts there."""
    return sentence_en(clause, " ?" if end == "?" else end)


def sentence_en(clause: str, end: str) -> str:
    return clause[0].upper() + clause[1:] + end


def spaced(*words: str) -> str:
    return " ".join(word for word in words if word)


def french_verb(subject: Subject, verb: Action | State, tense: Tense) -> tuple[str, str]:
    """The conjugated word, around which ne and pas stand, and what completes it."""
    person = subject.person
    if isinstance(verb, State):
        forms = {"present": verb.present, "past": verb.imperfect, "future": verb.future}[tense]
        return forms[person], ""
    if tense == "present":
        return verb.present[person], ""
    if tense == "future":
        return GO.present[person], verb.infinitive
    if not verb.takes_etre:
        return HAVE.present[person], verb.participle
    agreement = "e" * (subject.gender == "f") + "s" * subject.plural
    return BE.present[person], verb.participle + agreement


def english_verb(subject: Subject, verb: Action | State, tense: Tense) -> tuple[str, str, str]:
    """The auxiliary and the base for negation and questions, and the finite verb for statements."""
    person = subject.person
    if verb.en == "be" and tense != "future":
        copula = (_AM if tense == "present" else _WAS)[person]
        return copula, "", copula
    if isinstance(verb, Action) and verb.is_modal:
        return verb.en, "", verb.en
    if tense == "past":
        return "did", verb.en, verb.en_past
    if tense == "present":
        return _DO[person], verb.en, verb.en_s if person == 2 else verb.en
    if isinstance(verb, State):
        return "will", verb.en, f"will {verb.en}"
    return _AM[person], f"going to {verb.en}", f"{_AM[person]} going to {verb.en}"
