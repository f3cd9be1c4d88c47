"""Where one sentence ends and the next begins, in English, French and German."""

import re
from dataclasses import dataclass
from typing import Literal

from regard.text.normal import Span

Language = Literal["en", "fr", "de"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words whose full stop belongs to them, written without it and without inner spaces. One in
# lower case may begin with a capital, one with a capital may not be without ("Me Dupont", "me").
_ABBREVIATIONS: dict[Language, frozenset[str]] = {
    "en": _words("""Mr Mrs Ms Messrs Dr Prof Rev Hon Gen Col Capt Cpt Lt Sgt Cmdr Sen Rep Gov Pres
        St Mt Ft vs cf viz e.g i.e fig figs eq vol pp eds approx"""),
    "fr": _words("""M MM Mme Mmes Mlle Mlles Me Mgr Dr Pr Prof St Ste cf c.-à-d p.ex av apr env
        boul Bd éd fig chap vol tél n.b"""),
    "de": _words("""Hr Hrn Fr Frl Dr Prof Dipl Ing St bzw ca evtl ggf inkl zzgl vgl z.b d.h u.a
        i.d.r o.ä u.u z.t s.o s.u sog bspw Abs Nr Str Tel geb gest Jh verh Mio Mrd"""),
}
_ALL_ABBREVIATIONS = frozenset().union(*_ABBREVIATIONS.values())
# Words whose full stop belongs to them in front of a number: No. 5, Jan. 3, p. 12, art. 7.
_BEFORE_NUMBER = _words(
    """no nos nr p pp s art num fig vol ch chap bd kap jan feb febr mar mär apr jun jul aug sept
    sep oct okt nov dec dez janv févr avr juil déc"""
)
# Words after a German ordinal: am 3. Oktober, im 19. Jahrhundert.
_AFTER_ORDINAL = _words(
    """januar jänner februar märz april mai juni juli august september oktober november dezember
    jahrhundert jahrhunderts jahrhunderten mal klasse platz tag etage stock liga geburtstag
    jahrestag weltkrieg kapitel auflage minute runde"""
)
# Words that so often open a sentence that even "U.S." or "Plan B." ends before them.
_OPENERS = _words(
    """The This That These There He She It We They You But And In On At When After If His Her
    Then So Now Puis Alors Dann Le La Les Un Une Il Elle Ils Elles On Nous Vous Je Ce Cette
    Mais Et En Dans Der Die Das Ein Eine Er Sie Es Wir Ich Aber Und Im Wenn Doch"""
)

_END = re.compile(
    r"""
    (?<! [.!?…] )
    (?P<stop> [.!?…]++ (?: \s?+ [!?]++ ){0,3}+ )    # Quoi ?!
    (?P<close> (?: ["'”“’›‹)\]] | «(?=\s|$)          # »Komm!« in German books
               | [^\S\n]? »(?=[\s.,;:)]|$) )*+ )   # « Viens ! » with its space
    \s++
    """,
    re.VERBOSE,
)
_LAST_WORD = re.compile(r"(?:(?<!\w)[^\W\d_]\.\s?(?:-à-)?)*[^\s.(«»„“\"'’]+$|\S+$")
_NEXT_WORD = re.compile(r"[^\w\n]{0,20}(\w{0,40})")
_NUMBER = re.compile(r"\d+")
# How far back from a full stop its word is looked for.
_REACH = 40


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and its half-open span of characters; the separators lie between the spans."""

    text: str
    start: int
    end: int


def split_sentences(text: str, language: Language | None = None) -> list[Sentence]:
    """Cut a text after . ! ? … and the quotes that close there, and at every line break.

    A full stop does not end a sentence after an abbreviation of the language (of all three
    when it is not given), an initial, an ordinal before its noun or the number of a list, nor
    does any mark before a word in lower case. White space between and around the sentences
    belongs to none of them; with it they give back the text.
    """
    sentences: list[Sentence] = []
    for line in re.finditer(r"[^\n]+", text):
        for start, end in _split_line(text, *line.span(), language):
            surface = text[start:end]
            left = start + len(surface) - len(surface.lstrip())
            right = start + len(surface.rstrip())
            if left < right:
                sentences.append(Sentence(text[left:right], left, right))
    return sentences


def _split_line(text: str, start: int, end: int, language: Language | None) -> list[Span]:
    spans: list[Span] = []
    for match in _END.finditer(text, start, end):
        if match.end() < end and _is_boundary(text, start, end, match, language):
            spans.append((start, match.end()))
            start = match.end()
    return [*spans, (start, end)]


def _is_boundary(
    text: str, start: int, end: int, match: re.Match[str], language: Language | None
) -> bool:
    following = _NEXT_WORD.match(text, match.end(), end)
    assert following is not None
    next_word = following[1]
    if next_word[:1].islower():
        return False
    if match["stop"] != "." or match["close"]:
        return True
    before = text[max(start, match.start() - _REACH) : match.start()].strip()
    word_match = _LAST_WORD.search(before)
    if word_match is None:
        return True
    # "z. B", "e.g" and "U.S" are one word here, their inner spaces gone.
    word = re.sub(r"\s", "", word_match[0]).lstrip("(«»„“\"'’")
    lower = word.lower()
    if before == word and (_NUMBER.fullmatch(word) or len(word) == 1):
        return False  # the number of a list: "1. Open the box."
    abbreviations = _ALL_ABBREVIATIONS if language is None else _ABBREVIATIONS[language]
    if word in abbreviations or lower in abbreviations:
        return False
    if next_word[:1].isdigit() and (lower in _BEFORE_NUMBER or lower.endswith("str")):
        return False
    if _NUMBER.fullmatch(word):
        return next_word.lower() not in _AFTER_ORDINAL
    is_initial = len(word.split(".")[-1]) == 1 and word[-1].isalpha()
    return not is_initial or next_word in _OPENERS
