"""Where the words of a text are, and which word a piece belongs to."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from functools import cache

from regard.text.encoded import Encoded
from regard.text.normal import Span

Cut = Callable[[str], list[Span]]
"""A way to find the words of a text: their spans, in order."""

# French words that lose their vowel before the next: l'Afrique, qu'il, aujourd'hui.
ELISIONS = "[cdjlmnst]|(?:jus|lors|puis|quoi|pres|quel)?qu|entr|aujourd"
# English and German words that lean on the one before: Jane's, don't, geht's.
CLITICS = "s|t|d|m|re|ve|ll"


def word_spans(text: str) -> list[Span]:
    """The words of a text, with punctuation split off: l' + Afrique, September + "." .

    What stays whole: numbers (3.14), compounds (well-known), initials (U.S.), names with an
    apostrophe (O'Brien), and repeated marks (...). Together the spans cover every character
    that is not white space.
    """
    return [match.span() for match in _word().finditer(text)]


def token_spans(text: str) -> list[Span]:
    """The words of a text that was tokenised before: what stands between spaces."""
    return [match.span() for match in re.finditer("[^ ]+", text)]


def piece_words(encoded: Encoded, cut: Cut = word_spans) -> list[int]:
    """For each piece the index, in `cut(encoded.text)`, of the word it belongs to.

    A piece that reaches over several words belongs to the first; one of nothing but white
    space to the word that follows it, or the last. -1 where the text has no word.
    """
    starts = [start for start, _ in cut(encoded.text)]
    words: list[int] = []
    for start, end in encoded.offsets:
        surface = encoded.text[start:end]
        first = start + len(surface) - len(surface.lstrip())
        if first < end:
            words.append(bisect_right(starts, first) - 1)
        else:
            words.append(min(bisect_right(starts, end - 1), len(starts) - 1))
    return words


@cache
def _word() -> re.Pattern[str]:
    # \w knows no combining marks: without them a decomposed é or a Hindi vowel would end a word.
    # The joiners, U+200C and U+200D, hold scripts and emoji together in the same way.
    marks = "\u200c\u200d" + "".join(_marks())
    letter = rf"[\w{marks}]"
    return re.compile(
        rf"""
          (?i:{ELISIONS}) ['’] (?=\w)
        | (?<=\w) ['’] (?i:{CLITICS}) (?!\w)
        | (?:[^\W\d_]\.){{2,}}
        | \d+ (?:[.,:]\d+)+ {letter}*
        | \w{letter}* (?: (?!['’](?i:{CLITICS})(?!\w)) ['’-] \w{letter}* )*
        | (?P<mark>\S) (?P=mark)+ (?![{marks}])
        | \S [{marks}]* (?: (?<=\u200d) \S [{marks}]* )*
        """,
        re.VERBOSE,
    )


def _marks() -> list[str]:
    """Every combining mark, as ranges of a character class."""
    ranges: list[str] = []
    for first, last in ((0x300, 0x1F000), (0xE0100, 0xE01F0)):  # no marks lie outside
        start: int | None = None
        for code in range(first, last + 1):
            is_mark = unicodedata.category(chr(code)).startswith("M")
            if is_mark and start is None:
                start = code
            elif not is_mark and start is not None:
                ranges.append(f"{chr(start)}-{chr(code - 1)}")
                start = None
    return ranges
