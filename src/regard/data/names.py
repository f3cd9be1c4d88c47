"""Names that nobody has read: a name that stands on both sides of a pair becomes another one.

A small corpus has few names, and a model learns them by heart: having read of nobody but Tom, it
translates Jane as Tom. With other names on both sides in every epoch it learns to copy instead.
"""

import re
from importlib.resources import files
from random import Random

from regard.data.corpus import Example

KNOWN = tuple((files("regard.data") / "names.txt").read_text("utf-8").split())
"""First names that French and English write alike."""

VOWELS = "AEIOUY"
_OPENING, _INSIDE = "BCDFGJKLMNPRSTVZ", "bdfgklmnprstvz"
_SOUNDS, _ENDS = "aeiou", ("", "", "n", "r", "s", "l", "k", "x")
_WORD = re.compile(r"[^\W\d_]+")


def names_of(text: str) -> set[str]:
    """The words that are written as names are: a capital, then at least two small letters."""
    words = _WORD.findall(text)
    return {word for word in words if len(word) > 2 and word[0].isupper() and word[1:].islower()}


def renamed(example: Example, random: Random) -> Example:
    """A pair with another name in the place of one that both sides have; without such, as it was.

    « Tom aime Paris. » "Tom likes Paris." → « Nadia aime Paris. » "Nadia likes Paris."
    """
    shared = sorted(names_of(example.source) & names_of(example.target))
    if not shared:
        return example
    name = random.choice(shared)
    new = another_name(name, random)
    whole = re.compile(rf"(?<!\w){name}(?!\w)")
    return Example(whole.sub(new, example.source), whole.sub(new, example.target))


def another_name(name: str, random: Random) -> str:
    """A name that people have, or one made of syllables.

    It begins with a vowel if the other did: French writes « de Tom », but « d'Anna ».
    """
    has_vowel = name[0] in VOWELS
    if random.random() < 0.5:
        return random.choice([known for known in KNOWN if (known[0] in VOWELS) == has_vowel])
    beginning = random.choice(VOWELS)
    if not has_vowel:
        beginning = random.choice(_OPENING) + beginning.lower()
    syllables = [
        random.choice(_INSIDE) + random.choice(_SOUNDS) for _ in range(random.randint(1, 2))
    ]
    return beginning + "".join(syllables) + random.choice(_ENDS)
