"""Text in capitals: read in small letters, which models know better, and answered in capitals."""

from dataclasses import replace

from regard.text.encoded import Encoded
from regard.text.tokeniser import Tokeniser

# Letters below which capitals may be an abbreviation or two.
FEW_LETTERS = 4


def encode(text: str, tokeniser: Tokeniser) -> Encoded:
    """A sentence in pieces; one in capitals as if it had been written in small letters.

    Corpora have few sentences in capitals, and their words fall into many pieces or are unknown.
    A model that was trained in capitals has fewer pieces for them, and reads them as they are.
    """
    whole = tokeniser.encode(text)
    if not _is_in_capitals(text):
        return whole
    small = tokeniser.encode(_in_small_letters(text))
    if _difficulty(small, tokeniser) >= _difficulty(whole, tokeniser):
        return whole
    return replace(small, text=text, is_lowered=True)


def in_capitals(encoded: Encoded) -> Encoded:
    """The same pieces, of a text in capitals. A letter without a capital of its own, ß, stays."""
    letters = ((letter, letter.upper()) for letter in encoded.text)
    return replace(encoded, text="".join(a if len(b) > 1 else b for a, b in letters))


def _is_in_capitals(text: str) -> bool:
    """Several words, and not a small letter."""
    letters = sum(letter.isalpha() for letter in text)
    words = sum(any(letter.isalpha() for letter in word) for word in text.split())
    return text.isupper() and words > 1 and letters >= FEW_LETTERS


def _in_small_letters(text: str) -> str:
    """But for the first; every letter in its place."""
    first = next(place for place, letter in enumerate(text) if letter.isupper())
    rest = ((letter, letter.lower()) for letter in text[first + 1 :])
    return text[: first + 1] + "".join(a if len(b) > 1 else b for a, b in rest)


def _difficulty(encoded: Encoded, tokeniser: Tokeniser) -> tuple[int, int]:
    return encoded.ids.count(tokeniser.unk), len(encoded.ids)
