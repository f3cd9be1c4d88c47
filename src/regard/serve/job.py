"""What a client waits for: texts, how they are to be translated, and what became of them."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field, replace

from regard.api import Translator
from regard.decoding.config import DecodingConfig
from regard.decoding.trace import Node
from regard.planning import Plan
from regard.text.encoded import Encoded
from regard.translation import SentenceTranslation, Translation


@dataclass(frozen=True, slots=True)
class Options:
    """What sentences have in common that stand in one batch.

    Attributes:
        beam: hypotheses kept at each step.
        n_best: candidates returned a sentence.
        prefix: what each translation must begin with.
        align: whether to say which word came from which.
        attention: whether to keep every layer and head of the attention.
    """

    beam: int
    n_best: int = 1
    prefix: str = ""
    align: bool = False
    attention: bool = False


@dataclass(frozen=True, slots=True)
class Teller:
    """Who is told how sentences are decoded, in the worker's thread.

    Attributes:
        step: given the number of the sentence and the nodes of a step (`decoding.trace`).
        sentence: given its number and what became of it.
        num_rivals: see `decoding.trace`.
    """

    step: Callable[[int, tuple[Node, ...]], None]
    sentence: Callable[[int, SentenceTranslation], None]
    num_rivals: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a text.

    Attributes:
        translation: the best.
        alternatives: other translations of the whole text, the second candidate of every
            sentence and so on; a sentence that has no more candidates is at its best.
    """

    translation: Translation
    alternatives: tuple[str, ...]

    def ranked(self, rank: int) -> str:
        """The best where rank is 0, then the alternatives, then the best again."""
        others = self.alternatives[rank - 1 : rank] if rank else ()
        return others[0] if others else self.translation.text


@dataclass(eq=False, slots=True)
class Job:
    """Texts that a client waits for.

    Attributes:
        texts: to be translated.
        options: how.
        teller: who is told of each step; such a job's sentences are decoded one by one.
        only_first: whether the first sentence of each text is all that is wanted.
        answers: one a text; to cancel it is to leave.
        plans: what the worker makes of the texts.
        sources: their sentences.
        waiting: the numbers of those that no batch has taken.
        found: what became of the others, by their number.
    """

    texts: Sequence[str]
    options: Options
    teller: Teller | None = None
    only_first: bool = False
    answers: "Future[list[Answer]]" = field(default_factory=Future)
    plans: list[Plan] | None = None
    sources: list[Encoded] = field(default_factory=list)
    waiting: deque[int] = field(default_factory=deque)
    found: dict[int, SentenceTranslation] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        return self.answers.done()

    def prepare(self, translator: Translator, config: DecodingConfig) -> None:
        """Cut the texts into sentences and those into pieces."""
        translator.forced(self.options.prefix)
        plans = [translator.plan(text, config) for text in self.texts]
        self.plans = [plan.beginning() for plan in plans] if self.only_first else plans
        self.sources = [part for plan in self.plans for part in plan.parts]
        self.waiting.extend(range(len(self.sources)))
        self._finish_if_whole()

    def deliver(self, number: int, sentence: SentenceTranslation) -> None:
        self.found[number] = sentence
        self._finish_if_whole()

    def fail(self, error: Exception) -> None:
        with suppress(InvalidStateError):  # the client has left
            self.answers.set_exception(error)

    def _finish_if_whole(self) -> None:
        assert self.plans is not None
        if len(self.found) < len(self.sources):
            return
        ordered = iter(self.found[number] for number in range(len(self.found)))
        answers = [_answer(plan, [next(ordered) for _ in plan.parts]) for plan in self.plans]
        with suppress(InvalidStateError):  # the client has left
            self.answers.set_result(answers)


def _answer(plan: Plan, sentences: Sequence[SentenceTranslation]) -> Answer:
    others = []
    for rank in range(1, max((len(s.candidates) for s in sentences), default=1)):
        ranked = [replace(s, candidates=s.candidates[rank:] or s.candidates) for s in sentences]
        others.append(plan.join(ranked).text)
    return Answer(plan.join(sentences), tuple(others))
