"""Noise as people make it: no accents, capitals, typos, no final stop, several sentences at once.

Who has read edited text alone stumbles over « ou est la gare ». Training on sources that are spoilt
as people spoil them, with their translations left whole, is the cure (Belinkov & Bisk 2018;
Karpukhin et al. 2019, whose typos these are, one a word at most).
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from random import Random
from typing import Literal, get_args

from regard.data.corpus import Example

Kind = Literal["join", "typos", "accents", "lower", "caps", "stop"]
KINDS: tuple[Kind, ...] = get_args(Kind)

SHARES: Mapping[Kind, float] = {
    "join": 0.5,
    "typos": 0.3,
    "accents": 0.4,
    "lower": 0.3,
    "caps": 0.25,
    "stop": 0.4,
}
"""How often each kind befalls a noisy pair, in this order: capitals after lower case."""

TYPOS = 1 / 6
"""The share of words with a typo in a text that has typos."""

_WORD = re.compile(r"[^\W\d_]{4,}")  # shorter ones would become other words
_STOPS = ".!?… \u00a0\u202f"  # with the spaces of French before them
_ACCENTS = re.compile("[\u0300-\u036f]+")
_LIGATURES = {"œ": "oe", "Œ": "OE", "æ": "ae", "Æ": "AE"}
# Most of them are neighbours on a French keyboard too.
_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_BESIDE = {
    key: row[max(i - 1, 0) : i] + row[i + 1 : i + 2] for row in _KEYS for i, key in enumerate(row)
}


# --------------------------------------------------------------------------------------------------
# One text
# --------------------------------------------------------------------------------------------------


def without_accents(text: str) -> str:
    """Où êtes-vous, ma sœur ? → Ou etes-vous, ma soeur ?

    Combining diacritical marks go (U+0300 to U+036F), and what was made of a letter and such
    marks becomes the letter.
    """
    return "".join(map(_bare, text))


@lru_cache(4096)
def _bare(character: str) -> str:
    decomposed = unicodedata.normalize("NFD", character)
    bare, num_accents = _ACCENTS.subn("", decomposed)
    return (
        unicodedata.normalize("NFC", bare) if num_accents else _LIGATURES.get(character, character)
    )


def in_capitals(text: str) -> str:
    """Où est la gare ? → OÙ EST LA GARE ?"""
    return text.upper()


def in_lower_case(text: str) -> str:
    """Jane visite l'Afrique. → jane visite l'afrique."""
    return text.lower()


def without_stop(text: str) -> str:
    """Où est la gare ? → Où est la gare

    The marks . ! ? … at the end go, with the space before them; a text of nothing else stays.
    """
    return text.rstrip(_STOPS) or text


def with_typos(text: str, random: Random) -> str:
    """Jane visite l'Afrique en septembre. → Jane viiste l'Afrique en septembre.

    Some words, at least one, each with one letter swapped with that before it, dropped, doubled
    or replaced by its neighbour on the keyboard. Only words of four letters or more.
    """
    words = list(_WORD.finditer(text))
    if not words:
        return text
    chosen = random.sample(words, max(1, round(len(words) * TYPOS)))
    for word in sorted(chosen, key=lambda match: -match.start()):
        text = text[: word.start()] + _mistyped(word[0], random) + text[word.end() :]
    return text


def _mistyped(word: str, random: Random) -> str:
    i = random.randrange(1, len(word))
    before, letter, after = word[:i], word[i], word[i + 1 :]
    slips = [before[:-1] + letter + before[-1] + after, before + after, before + letter * 2 + after]
    if keys := _BESIDE.get(letter.lower()):
        key = random.choice(keys)
        slips.append(before + (key.upper() if letter.isupper() else key) + after)
    return random.choice([slip for slip in slips if slip != word])


# --------------------------------------------------------------------------------------------------
# A pair
# --------------------------------------------------------------------------------------------------

_OF_SOURCE: Mapping[Kind, Callable[[str, Random], str]] = {
    "typos": with_typos,
    "accents": lambda text, _: without_accents(text),
    "lower": lambda text, _: in_lower_case(text),
    "stop": lambda text, _: without_stop(text),
}


def joined(one: Example, other: Example) -> Example:
    """Two pairs on one line."""
    return Example(f"{one.source} {other.source}", f"{one.target} {other.target}")


def spoilt(kind: Kind, example: Example, random: Random) -> Example:
    """A pair with one kind of noise, any but "join", which takes two.

    The target stays as it was; but who writes in capitals is answered in capitals.
    """
    if kind == "caps":
        return Example(in_capitals(example.source), in_capitals(example.target))
    return Example(_OF_SOURCE[kind](example.source, random), example.target)


def noisy(example: Example, other: Example, random: Random) -> Example:
    """A pair with some kinds of noise, at least one, drawn by `SHARES`.

    Args:
        example: the pair.
        other: what follows it where two are joined.
        random: all that the result depends on besides.
    """
    drawn = [kind for kind, share in SHARES.items() if random.random() < share]
    for kind in drawn or [random.choice(KINDS)]:
        example = joined(example, other) if kind == "join" else spoilt(kind, example, random)
    return example


def all_spoilt(kind: Kind, examples: Iterable[Example], random: Random) -> Iterator[Example]:
    """A corpus with one kind of noise throughout, to measure what it costs.

    Joining puts every two pairs on one line; an odd one out stays alone.
    """
    if kind != "join":
        yield from (spoilt(kind, example, random) for example in examples)
        return
    remaining = iter(examples)
    for one in remaining:
        other = next(remaining, None)
        yield one if other is None else joined(one, other)
