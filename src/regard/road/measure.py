"""A trained system on the test set: how good, how fast, and what it looked at."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, runtime_checkable

from regard.api import Translator
from regard.data.corpus import Example
from regard.lens.words import merge_to_words, words
from regard.metrics.bleu import bleu
from regard.metrics.paper import PaperBleu, paper_language
from regard.metrics.scorer import Score, Scorer
from regard.road.result import LengthScore
from regard.statistical.system import System as Statistical

# Borders between groups of test sentences, in source words; the last group has no end.
LENGTHS = (5, 10, 15, 20, 25, 30, 40, 50, 60)
# Fewer sentences than this have no BLEU worth drawing.
FEWEST = 10


@dataclass(frozen=True, slots=True)
class Looked:
    """One sentence, its translation, and how much each word of one took from the other's."""

    translation: str
    words: tuple[str, ...]
    source_words: tuple[str, ...]
    alignment: tuple[tuple[float, ...], ...]


@runtime_checkable
class Contestant(Protocol):
    """Whatever can be measured."""

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Translate sentences, in order."""
        ...

    def look(self, sentence: str) -> Looked:
        """Translate one sentence and say what its words came from."""
        ...


class Learned:
    """A neural system, or an ensemble of several."""

    def __init__(self, translator: Translator) -> None:
        self.translator = translator

    def translate(self, texts: Sequence[str]) -> list[str]:
        found = self.translator.translate(list(texts), align=False, split_sentences=False)
        return [translation.text for translation in found]

    def look(self, sentence: str) -> Looked:
        found = self.translator.translate(sentence, attention=True, split_sentences=False)
        (part,) = found.sentences
        source, target = part.source, part.best.target
        rows: list[list[float]] = []
        # An ensemble's record is its first member's: of several that vote none is shown.
        is_alone = len(self.translator.models) == 1
        if is_alone and part.attention is not None and "cross" in part.attention.weights:
            rows = merge_to_words(part.attention.mean("cross"), target, source).tolist()
        return Looked(found.text, tuple(words(target)), tuple(words(source)), _matrix(rows))


class Counted:
    """A system made from counts."""

    def __init__(self, system: Statistical) -> None:
        self.system = system

    def translate(self, texts: Sequence[str]) -> list[str]:
        return [found.text for found in self.system.translate(texts)]

    def look(self, sentence: str) -> Looked:
        found = self.system.translate_one(sentence)
        rows = [[0.0] * len(found.source) for _ in found.target]
        for source, target in found.links:
            rows[target][source] = 1.0
        return Looked(found.text, found.target, found.source, _matrix(rows))


@dataclass(frozen=True, slots=True)
class Measured:
    """What the test set says.

    Attributes:
        score: BLEU with its interval.
        by_length: BLEU of sentences of like length.
        words_per_second: written.
        translations: of the test set, in order.
    """

    score: Score
    by_length: tuple[LengthScore, ...]
    words_per_second: float
    translations: list[str]


def measure(contestant: Contestant, test: Sequence[Example], scorer: Scorer) -> Measured:
    """Translate the test set and score it."""
    started = time.perf_counter()
    hypotheses = contestant.translate([example.source for example in test])
    seconds = time.perf_counter() - started
    references = [example.target for example in test]
    num_words = sum(len(hypothesis.split()) for hypothesis in hypotheses)
    return Measured(
        scorer.score(hypotheses, references),
        by_length(test, hypotheses, scorer),
        num_words / seconds,
        hypotheses,
    )


def by_length(
    test: Sequence[Example], hypotheses: Sequence[str], scorer: Scorer
) -> tuple[LengthScore, ...]:
    """BLEU of the sentences up to each border and beyond the one before, and beyond the last.

    A group of fewer than FEWEST sentences is left out.
    """
    found = []
    lengths = [len(example.source.split()) for example in test]
    for shortest, longest in pairwise([0, *LENGTHS, max(*LENGTHS, *lengths)]):
        chosen = [n for n, length in enumerate(lengths) if shortest < length <= longest]
        if len(chosen) >= FEWEST:
            score = scorer.score(
                [hypotheses[n] for n in chosen], [test[n].target for n in chosen], samples=0
            )
            found.append(LengthScore(longest=longest, sentences=len(chosen), bleu=score.value))
    return tuple(found)


def scorer_for(language: str) -> Scorer:
    """The papers' BLEU where they define it for the language, else sacreBLEU's."""
    known = paper_language(language)
    return bleu() if known is None else PaperBleu(known)


def _matrix(rows: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(round(weight, 4) for weight in row) for row in rows)
