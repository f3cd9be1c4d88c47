"""Sentences as words to count and as tokens to write: what is put together reads as it was."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from regard.text.spans import word_spans


def words_of(text: str) -> list[str]:
    """The words of a text as they are counted and looked up: lowercased, without white space."""
    return [text[start:end].lower() for start, end in word_spans(text)]


def tokens_of(text: str) -> list[str]:
    """The words of a text, each with the white space before it; the first has one space.

        joined(tokens_of(x)) = x

    for every text x without white space at its ends. There are as many tokens as words.
    """
    text = text.strip()
    spans = word_spans(text)
    ends = [0, *(end for _, end in spans)]
    tokens = [text[begin:end] for begin, end in pairwise(ends)]
    return [f" {tokens[0]}", *tokens[1:]] if tokens else []


def joined(tokens: Iterable[str]) -> str:
    """The text that tokens spell, without the space before the first."""
    return "".join(tokens).removeprefix(" ")


def truecased(sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """The tokens with each sentence's first in the form that it has most often elsewhere.

    "Two dogs" and "the two dogs" have one word in common then, and "Jane" stays as it is
    (Lita et al. 2003 call it truecasing). A word that stands nowhere else keeps its form.
    """
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for tokens in sentences:
        for token in tokens[1:]:
            forms[token.lower()][token] += 1
    usual = {word: _most_frequent(counts) for word, counts in forms.items()}
    return [
        [usual.get(tokens[0].lower(), tokens[0]), *tokens[1:]] if tokens else []
        for tokens in sentences
    ]


def usual_tokens(sentences: Iterable[Sequence[str]]) -> dict[str, str]:
    """For each word, as `words_of` has it, the token that it most often is."""
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for tokens in sentences:
        for token in tokens:
            forms[token.strip().lower()][token] += 1
    return {word: _most_frequent(counts) for word, counts in forms.items()}


def cased_like(text: str, source: str) -> str:
    """A text that begins with a capital if the source does."""
    return text[:1].upper() + text[1:] if source.strip()[:1].isupper() else text


def _most_frequent(counts: Counter[str]) -> str:
    """Among equals the last by code point, which is a small letter rather than a capital."""
    return max(counts, key=lambda form: (counts[form], form))
