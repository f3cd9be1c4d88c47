"""The form of a text before it is cut: well-formed, no controls; NFKC or lower case if asked."""

import re
import unicodedata
from typing import Literal

Form = Literal["none", "nfkc", "lower"]
Span = tuple[int, int]

_SURROGATE = re.compile("[\ud800-\udfff]")
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Control characters, and two separators that end a line for many programs."""
BREAKING = re.compile("[\t\n\x0b\x0c\r\x1c-\x1f\x85\u2028\u2029]")
"""Those of them that are white space."""


def well_formed(text: str) -> str:
    """Replace every lone surrogate, which UTF-8 cannot hold, by U+FFFD: one for one."""
    return _SURROGATE.sub("\ufffd", text) if _SURROGATE.search(text) else text


def is_well_formed(text: str) -> bool:
    """Whether UTF-8 can hold the text."""
    return not _SURROGATE.search(text)


def without_controls(text: str) -> tuple[str, int]:
    """The text as training reads it, and how many characters that took.

    White space among the control characters (tab, vertical tab, U+0085 …) and the separators
    U+2028 and U+2029 become a plain space; every other control character, NUL included, goes.
    """
    if not CONTROL.search(text):
        return text, 0
    text, num_breaking = BREAKING.subn(" ", text)
    text, num_others = CONTROL.subn("", text)
    return text, num_breaking + num_others


def normalised(text: str, form: Form) -> str:
    """The well-formed text in the given form (NFKC: Unicode Standard Annex 15)."""
    text = well_formed(text)
    match form:
        case "none":
            return text
        case "nfkc":
            return unicodedata.normalize("NFKC", text)
        case "lower":  # one by one: a sigma that ends a word is like any other
            return "".join(map(str.lower, text))


def normalised_with_spans(text: str, form: Form) -> tuple[str, list[Span]]:
    """Equals `normalised`, and says for each character of the result which span it came from.

    NFKC takes characters apart (ﬁ → f i) and puts others together (e ◌́ → é), so it is applied
    to the smallest stretches that do not act on one another; where a stretch changed, each of
    its new characters stands for the whole of it. Lower case may take two characters (İ).
    """
    text = well_formed(text)
    if form == "lower":
        spans = [(i, i + 1) for i, character in enumerate(text) for _ in character.lower()]
        return normalised(text, form), spans
    if form == "none" or unicodedata.is_normalized("NFKC", text):
        return text, [(i, i + 1) for i in range(len(text))]
    result: list[str] = []
    spans = []
    for start, end in _independent_stretches(text):
        stretch = unicodedata.normalize("NFKC", text[start:end])
        result.append(stretch)
        if stretch == text[start:end]:
            spans.extend((i, i + 1) for i in range(start, end))
        else:
            spans.extend([(start, end)] * len(stretch))
    return "".join(result), spans


def _independent_stretches(text: str) -> list[Span]:
    starts = [0]
    for i in range(1, len(text)):
        first = unicodedata.normalize("NFKD", text[i])[0]
        if unicodedata.combining(first):
            continue  # a mark belongs to the letter before it
        before = text[starts[-1] : i]
        apart = unicodedata.normalize("NFKC", before) + unicodedata.normalize("NFKC", text[i])
        if unicodedata.normalize("NFKC", before + text[i]) == apart:
            starts.append(i)
    return list(zip(starts, [*starts[1:], len(text)], strict=True))
