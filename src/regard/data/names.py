"""Names and numbers that nobody has read: one that both sides of a pair have becomes another.

A small corpus has few names, and a model learns them by heart: having read of nobody but Tom, it
translates Jane as Tom, and 1789 as 1990. With others on both sides in every epoch it learns to
copy instead.
"""

import re
import unicodedata
from importlib.resources import files
from random import Random

from regard.data.corpus import Example

KNOWN = tuple((files("regard.data") / "names.txt").read_text("utf-8").split())
"""First names that French and English write alike."""

VOWELS = "AEIOUY"
_OPENING, _INSIDE = "BCDFGJKLMNPRSTVZ", "bdfgklmnprstvz"
_SOUNDS, _ENDS = "aeiou", ("", "", "n", "r", "s", "l", "k", "x")
_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"(?<!\w)[0-9]{2,}(?!\w)")  # after a single figure a noun may be singular


def names_of(text: str) -> set[str]:
    """The words that are written as names are: a capital, then at least two small letters."""
    words = _WORD.findall(text)
    return {word for word in words if len(word) > 2 and word[0].isupper() and word[1:].islower()}


def numbers_of(text: str) -> set[str]:
    """The numbers of two figures or more."""
    return set(_NUMBER.findall(text))


def renamed(example: Example, random: Random) -> Example:
    """A pair with another name, or number, in the place of one that both sides have.

    « Tom aime Paris. » "Tom likes Paris." → « Nadia aime Paris. » "Nadia likes Paris."
    A pair that shares neither stays as it was.
    """
    source, target = example.source, example.target
    names = names_of(source) & names_of(target)
    shared = sorted(names | (numbers_of(source) & numbers_of(target)))
    if not shared:
        return example
    old = random.choice(shared)
    new = another_name(old, random) if old in names else another_number(old, random)
    whole = re.compile(rf"(?<!\w){old}(?!\w)")
    return Example(whole.sub(new, example.source), whole.sub(new, example.target))


def another_name(name: str, random: Random) -> str:
    """A name that people have, or one made of syllables.

    It begins with a vowel if the other did: French writes « de Tom », but « d'Anna ».
    """
    has_vowel = begins_with_vowel(name)
    if random.random() < 0.5:
        return random.choice([known for known in KNOWN if begins_with_vowel(known) == has_vowel])
    beginning = random.choice(VOWELS)
    if not has_vowel:
        beginning = random.choice(_OPENING) + beginning.lower()
    syllables = [
        random.choice(_INSIDE) + random.choice(_SOUNDS) for _ in range(random.randint(1, 2))
    ]
    return beginning + "".join(syllables) + random.choice(_ENDS)


def begins_with_vowel(name: str) -> bool:
    """Whether French elides before it: Anna and Émile are said with a vowel, and so is Hélène."""
    return unicodedata.normalize("NFD", name)[0] in f"{VOWELS}H"


def another_number(number: str, random: Random) -> str:
    """One of as many figures, the first of them no 0."""
    return str(random.randrange(10 ** (len(number) - 1), 10 ** len(number)))
