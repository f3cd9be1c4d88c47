"""The log-linear model of phrase-based translation: its features and their weights."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float64
from typing_extensions import Doc

from regard.align.links import Link
from regard.statistical.language_model import END, SPECIAL, LanguageModel
from regard.statistical.phrases import PhraseTable

COPIED = (-10.0, -10.0, -10.0, -10.0)
"""The four scores of a word that is copied because no phrase translates it alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """λ_m of each feature h_m.

        ê = argmax_e Σ_m λ_m h_m(e, f)

    Och & Ney 2002, section 2; the features are those of Koehn 2004, section 2, and the
    lexical weights. The defaults were tuned on German–English captions (Multi30k) and are a
    fair start elsewhere; only their proportions matter.
    """

    phrase: Annotated[float, Doc("of log φ(ē | f̄)")] = 0.16
    phrase_reverse: Annotated[float, Doc("of log φ(f̄ | ē)")] = 0.10
    lexical: Annotated[float, Doc("of log p_w(ē | f̄, a)")] = 0.08
    lexical_reverse: Annotated[float, Doc("of log p_w(f̄ | ē, a)")] = 0.02
    phrases: Annotated[float, Doc("of minus the number of phrases")] = 0.0
    words: Annotated[float, Doc("of the number of target tokens")] = 0.33
    distortion: Annotated[float, Doc("of minus the words jumped over in the source")] = 0.13
    language_model: Annotated[float, Doc("of log p(e)")] = 0.16

    def vector(self) -> Float64[np.ndarray, " features"]:
        """The weights in the order of their fields, which is that of every feature vector."""
        return np.array(astuple(self))

    @classmethod
    def of(cls, vector: Float64[np.ndarray, " features"]) -> "Weights":
        """What `vector` made a vector of."""
        names = cls.__dataclass_fields__
        return cls(**dict(zip(names, vector.tolist(), strict=True)))


WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class Option:
    """A way to translate some neighbouring source words.

    Attributes:
        begin: the first of them.
        end: after the last.
        tokens: what is written for them.
        words: the same as the language model's numbers.
        links: between the words of both sides, each counted from the phrase's first.
        scores: the four logarithms of the phrase table.
        score: Σ λ h over them and the two penalties.
        estimate: the score, and the language model's with nothing known of what is before.
    """

    begin: int
    end: int
    tokens: tuple[str, ...]
    words: tuple[int, ...]
    links: tuple[Link, ...]
    scores: tuple[float, ...]
    score: float
    estimate: float


@dataclass(frozen=True)
class PhraseModel:
    """All that a search needs to know: phrases, a language model, and what each is worth."""

    table: PhraseTable
    language_model: LanguageModel
    weights: Weights

    def options(self, words: Sequence[str], copies: Sequence[str], limit: int) -> list[Option]:
        """The options of a sentence: the best of each group of words, best first.

        A word that no phrase translates alone is copied, so that there is always a way.

        Args:
            words: of the source, as the phrase table has them.
            copies: the tokens to write for them if need be.
            limit: options a group at most.
        """
        found: list[Option] = []
        is_translated = [False] * len(words)
        for begin, end, phrases in self.table.matches(words):
            some = [self._option(begin, end, p.tokens, p.links, p.scores) for p in phrases]
            found += sorted(some, key=lambda option: -option.estimate)[:limit]
            is_translated[begin] |= end - begin == 1
        for place in range(len(words)):
            if not is_translated[place]:
                copy = (copies[place],)
                found.append(self._option(place, place + 1, copy, ((0, 0),), COPIED))
        return found

    def _option(
        self,
        begin: int,
        end: int,
        tokens: tuple[str, ...],
        links: tuple[Link, ...],
        scores: tuple[float, ...],
    ) -> Option:
        λ = self.weights
        words = tuple(map(self.language_model.number, tokens))
        score = (
            λ.phrase * scores[0]
            + λ.phrase_reverse * scores[1]
            + λ.lexical * scores[2]
            + λ.lexical_reverse * scores[3]
            - λ.phrases
            + λ.words * len(tokens)
        )
        alone = score + λ.language_model * self.spoken(0, words)[0]
        return Option(begin, end, tokens, words, links, scores, score, alone)

    def spoken(self, state: int, words: Sequence[int]) -> tuple[float, int]:
        """The language model's log p of words after a state, and the state after them."""
        total = 0.0
        for word in words:
            log_prob, state = self.language_model.score(state, word)
            total += log_prob
        return total, state

    def finished(self, state: int) -> float:
        """The language model's log p that the sentence ends here."""
        return self.language_model.score(state, SPECIAL.index(END))[0]


@dataclass(frozen=True, slots=True)
class Derivation:
    """A translation as the options it was made of, in the order they were written.

    Attributes:
        options: they cover each source word once.
        score: Σ λ h.
    """

    options: tuple[Option, ...]
    score: float

    @property
    def tokens(self) -> tuple[str, ...]:
        """What is written."""
        return tuple(token for option in self.options for token in option.tokens)

    @property
    def links(self) -> tuple[Link, ...]:
        """The links inside its phrases, in words of the sentences."""
        links: list[Link] = []
        num_tokens = 0
        for option in self.options:
            links += [(option.begin + i, num_tokens + j) for i, j in option.links]
            num_tokens += len(option.tokens)
        return tuple(sorted(links))

    def features(self, model: PhraseModel) -> Float64[np.ndarray, " features"]:
        """h, in the order of `Weights`; the score is their weighted sum."""
        logs = np.sum([option.scores for option in self.options], axis=0)
        ends = [0, *(option.end for option in self.options)]
        jumps = sum(abs(o.begin - end) for o, end in zip(self.options, ends, strict=False))
        words = [word for option in self.options for word in option.words]
        log_prob, state = model.spoken(model.language_model.start, words)
        log_prob += model.finished(state)
        return np.array([*logs, -len(self.options), len(words), -jumps, log_prob])
