"""The thread that a model works in: sentences of different clients, translated together."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from regard.api import Translator
from regard.decoding.config import DecodingConfig
from regard.serve.job import Job, Options, Teller
from regard.serve.limits import Limits
from regard.serve.refusal import busy
from regard.text.encoded import Encoded
from regard.translation import SentenceTranslation

# A watched batch keeps the weights of every step, so it is a small one.
WATCHED_TOKENS = 256


Result = TypeVar("Result")


@dataclass(slots=True)
class Tally:
    """What a worker has done so far."""

    batches: int = 0
    sentences: int = 0
    source_pieces: int = 0
    target_pieces: int = 0
    refused: int = 0
    left: int = 0


@dataclass(frozen=True, slots=True)
class _Unit:
    """One sentence of a job."""

    job: Job
    number: int
    source: Encoded


class Worker:
    """Translates what is submitted, in a thread of its own, until it is closed.

    A batch waits for more sentences until the first has waited for `limits.linger`, or the texts
    that wait have as many characters as a batch of the model's run file has tokens: their pieces
    are not known yet. Jobs take turns, a sentence each, so a short text does not wait for all of
    a long one. What a sentence becomes does not depend on the batch.
    """

    def __init__(self, translator: Translator, limits: Limits) -> None:
        self.translator = translator
        self.limits = limits
        self.tally = Tally()
        self._jobs: deque[Job] = deque()
        self._calls: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._arrived = 0.0  # when the oldest job that no batch has been made of came
        self._is_closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="translate", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self, timeout: float = 5.0) -> None:
        """Stop; who still waits is left without an answer."""
        with self._changed:
            self._is_closed = True
            for waiting in (
                *(job.answers for job in self._jobs),
                *(each for each, _ in self._calls),
            ):
                waiting.cancel()
            self._changed.notify_all()
        self._thread.join(timeout)

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def num_waiting(self) -> int:
        """Jobs and calls that are not finished."""
        with self._changed:
            jobs = sum(not job.is_over for job in self._jobs)
            return jobs + sum(not result.done() for result, _ in self._calls)

    def submit(self, job: Job) -> None:
        """Let a job be done; its answers come through its future.

        Raises:
            Refusal: 429, too many are waiting already.
        """
        with self._changed:
            self._make_room()
            if not self._jobs:
                self._arrived = time.monotonic()
            self._jobs.append(job)
            self._changed.notify_all()

    def call(self, function: Callable[[], Result]) -> "Future[Result]":
        """Let something else be done with the model, between two batches.

        Raises:
            Refusal: 429, too many are waiting already.
        """
        result: Future[Result] = Future()
        with self._changed:
            self._make_room()
            self._calls.append((result, function))
            self._changed.notify_all()
        return result

    def config(self, options: Options) -> DecodingConfig:
        """How to search: the run file's way, but for what the client chose."""
        config = replace(
            self.translator.decoding, beam=options.beam, n_best=options.n_best, sample=False
        )
        if options.align or options.attention or config.needs_attention:
            return replace(config, batch_tokens=min(config.batch_tokens, WATCHED_TOKENS))
        return config

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._jobs or self._calls or self._is_closed)
                if self._is_closed:
                    return
                calls = list(self._calls)
            for result, function in calls:
                _fulfil(result, function)
            with self._changed:
                self._drop_finished()
                if not self._jobs:
                    continue
                due = self._arrived + self.limits.linger
                self._changed.wait_for(self._is_full, timeout=max(0.0, due - time.monotonic()))
                self._arrived = 0.0
                jobs = list(self._jobs)
            for job in jobs:
                if job.plans is None and not job.is_over:
                    self._prepare(job)
            units = self._next_units(jobs)
            if units and units[0].job.teller is not None:
                self._tell(units[0], units[0].job.teller)
            elif units:
                self._translate(units)
            with self._changed:
                self._drop_finished()
                if units and self._jobs and self._jobs[0] is units[0].job:
                    self._jobs.rotate(-1)

    def _is_full(self) -> bool:
        """Whether waiting longer would not make the next batch any better."""
        characters = sum(len(text) for job in self._jobs for text in job.texts)
        return self._is_closed or characters >= self.translator.decoding.batch_tokens

    def _prepare(self, job: Job) -> None:
        try:
            job.prepare(self.translator, self.config(job.options))
        except Exception as error:
            job.fail(error)

    def _next_units(self, jobs: Sequence[Job]) -> list[_Unit]:
        """The first job's next sentence, and with it those of others that search alike."""
        jobs = [job for job in jobs if job.waiting and not job.is_over]
        if not jobs:
            return []
        first = jobs[0]
        alike = [job for job in jobs if job.options == first.options and job.teller is None]
        budget = self.config(first.options).batch_tokens
        units: list[_Unit] = []
        num_tokens = 0
        while True:
            taking = [first] if first.teller is not None else [job for job in alike if job.waiting]
            for job in taking:
                source = job.sources[job.waiting[0]]
                num_tokens += len(source.ids) + 1
                if units and num_tokens > budget:
                    return units
                units.append(_Unit(job, job.waiting.popleft(), source))
            if not taking or first.teller is not None:
                return units

    def _translate(self, units: Sequence[_Unit]) -> None:
        options = units[0].job.options
        try:
            for batch in self.translator.sentences(
                [unit.source for unit in units],
                self.config(options),
                prefix=options.prefix,
                align=options.align,
                attention=options.attention,
                is_wanted=lambda number: not units[number].job.is_over,
            ):
                self.tally.batches += 1
                for number, sentence in batch.items():
                    self._deliver(units[number], sentence)
        except Exception as error:
            for unit in units:
                unit.job.fail(error)

    def _tell(self, unit: _Unit, teller: Teller) -> None:
        try:
            sentence = self.translator.traced(
                unit.source,
                self.config(unit.job.options),
                lambda nodes: teller.step(unit.number, nodes),
                prefix=unit.job.options.prefix,
                num_rivals=teller.num_rivals,
                is_wanted=lambda number: not unit.job.is_over,
            )
            self.tally.batches += 1
            if sentence is not None:
                teller.sentence(unit.number, sentence)
                self._deliver(unit, sentence)
        except Exception as error:
            unit.job.fail(error)

    def _deliver(self, unit: _Unit, sentence: SentenceTranslation) -> None:
        self.tally.sentences += 1
        self.tally.source_pieces += len(sentence.source.ids)
        self.tally.target_pieces += len(sentence.best.target.ids)
        unit.job.deliver(unit.number, sentence)

    def _make_room(self) -> None:
        """Refuse one more where too many wait."""
        self._drop_finished()
        if self._is_closed or len(self._jobs) + len(self._calls) >= self.limits.max_queue:
            self.tally.refused += 1
            raise busy("too many requests are waiting; try again later")

    def _drop_finished(self) -> None:
        self.tally.left += sum(job.answers.cancelled() for job in self._jobs)
        self.tally.left += sum(result.cancelled() for result, _ in self._calls)
        self._jobs = deque(job for job in self._jobs if not job.is_over)
        self._calls = deque(call for call in self._calls if not call[0].done())


def _fulfil(result: "Future[Any]", function: Callable[[], Any]) -> None:
    if not result.set_running_or_notify_cancel():  # the client has left
        return
    try:
        result.set_result(function())
    except Exception as error:
        result.set_exception(error)
