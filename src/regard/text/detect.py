"""Which language a text is in, by its character n-grams."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

MAX_ORDER = 3
# Characters of a text that are looked at; more add nothing but time.
REACH = 1_000
_SAMPLES = files("regard.text") / "samples"


@cache
def known_languages() -> tuple[str, ...]:
    """The languages that can be told apart: those with a sample of text in this package."""
    return tuple(sorted(p.name.removesuffix(".txt") for p in _SAMPLES.iterdir()))


def detect(text: str, languages: Sequence[str]) -> list[tuple[str, float]]:
    """Every language with its probability, most probable first.

        p(l | text) ∝ Π_n p_l(c_n | c_{n−2} c_{n−1})

    over the letters of the text, each known language as probable as the next before the text is
    read: naive Bayes on character trigrams (Dunning 1994). p_l mixes orders 3, 2 and 1 as Witten
    & Bell 1991 weigh them, learned from fifty sentences of our own a language.

    Args:
        text: any; marks, digits and case do not count.
        languages: those to choose from; the ones that nothing is known of get 0.
    """
    known = [language for language in languages if language in known_languages()]
    letters = _letters(text[:REACH])
    scores = {language: _model(language).log_prob(letters) for language in known}
    highest = max(scores.values(), default=0.0)
    masses = {language: math.exp(score - highest) for language, score in scores.items()}
    total = sum(masses.values()) or 1.0
    found = [(language, masses.get(language, 0.0) / total) for language in languages]
    return sorted(found, key=lambda pair: -pair[1])


class _NGrams:
    """p(c | context) of one language, from the counts of a sample.

        p_n(c | h) = (count(h c) + types(h) · p_{n−1}(c | h')) / (count(h) + types(h))

    h' is h without its first character, types(h) how many different characters followed h, and
    p_0 the same for every character of Unicode.
    """

    def __init__(self, sample: str) -> None:
        self._counts: Counter[str] = Counter()
        self._contexts: Counter[str] = Counter()
        self._types: Counter[str] = Counter()
        for order in range(1, MAX_ORDER + 1):
            for i in range(len(sample) - order + 1):
                gram = sample[i : i + order]
                self._types[gram[:-1]] += gram not in self._counts
                self._counts[gram] += 1
                self._contexts[gram[:-1]] += 1

    def log_prob(self, letters: str) -> float:
        """Of all letters, each given the two before it."""
        return math.fsum(
            math.log(self._prob(letters[max(0, i + 1 - MAX_ORDER) : i + 1]))
            for i in range(len(letters))
        )

    def _prob(self, gram: str) -> float:
        if not gram:
            return 1 / 0x110000
        context, types = gram[:-1], self._types[gram[:-1]]
        if not types:
            return self._prob(gram[1:])
        weighted = self._counts[gram] + types * self._prob(gram[1:])
        return weighted / (self._contexts[context] + types)


@cache
def _model(language: str) -> _NGrams:
    return _NGrams(_letters((_SAMPLES / f"{language}.txt").read_text("utf-8")))


def _letters(text: str) -> str:
    """Words in lower case with a space before, between and after them; nothing else."""
    words = "".join(c if c.isalpha() else " " for c in text.lower()).split()
    return f" {' '.join(words)} " if words else ""
