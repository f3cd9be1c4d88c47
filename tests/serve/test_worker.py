"""Sentences of different clients are translated together, and none of them can tell."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from regard.api import Translator
from regard.decoding.stepper import Stepper
from regard.errors import ConfigError
from regard.searching import Searcher
from regard.serve.job import Job, Options, Teller
from regard.serve.limits import Limits
from regard.serve.refusal import Refusal
from regard.serve.worker import WATCHED_TOKENS, Worker
from tests.little_corpus import sentences
from tests.serve.running import until

TEXTS = [source for source, _ in sentences()[::7]]
GREEDY = Options(beam=1)
TIMEOUT = 30.0


class Gate(Translator):
    """A translator that waits at every batch until it is let through, and notes the batches."""

    def __init__(self, translator: Translator) -> None:
        self.__dict__.update(translator.__dict__)
        self.batches: list[list[str]] = []
        self.entered = threading.Event()
        self.open = threading.Event()

    def sentences(self, sources: Any, config: Any, **options: Any) -> Any:
        self.batches.append([source.text for source in sources])
        self.entered.set()
        assert self.open.wait(TIMEOUT)
        return super().sentences(sources, config, **options)


@pytest.fixture
def gate(translator: Translator) -> Gate:
    return Gate(translator)


@contextmanager
def working(translator: Translator, **limits: Any) -> Iterator[Worker]:
    worker = Worker(translator, Limits(**limits))
    worker.start()
    try:
        yield worker
    finally:
        worker.close()


def result(job: Job) -> list[str]:
    return [answer.translation.text for answer in job.answers.result(TIMEOUT)]


def test_clients_share_a_batch_and_get_what_they_would_alone(
    gate: Gate, translator: Translator
) -> None:
    jobs = [Job(TEXTS[n : n + 4], GREEDY) for n in range(0, 24, 4)]
    with working(gate, linger=0.2) as worker:
        gate.open.set()
        for job in jobs:
            worker.submit(job)
        found = [result(job) for job in jobs]
    assert len(gate.batches) == 1 and len(gate.batches[0]) == 24
    for job, texts in zip(jobs, found, strict=True):
        assert texts == [t.text for t in translator.translate(job.texts, beam=1, align=False)]


def test_a_full_batch_does_not_linger(gate: Gate) -> None:
    gate.decoding = replace(gate.decoding, batch_tokens=40)
    worker = Worker(gate, Limits(linger=1.0))
    worker.submit(Job(TEXTS[:1], GREEDY))
    assert not worker._is_full()
    worker.submit(Job(TEXTS[:8], GREEDY))
    assert worker._is_full()


@pytest.mark.parametrize("options", [GREEDY, Options(beam=2)], ids=["alike", "unlike"])
def test_a_short_text_does_not_wait_for_all_of_a_long_one(
    gate: Gate, translator: Translator, options: Options
) -> None:
    gate.decoding = replace(gate.decoding, batch_tokens=30)
    with working(gate) as worker:
        long, short = Job(TEXTS, GREEDY), Job(TEXTS[:1], options)
        worker.submit(long)
        assert gate.entered.wait(TIMEOUT)
        worker.submit(short)
        gate.open.set()
        assert result(short)
        assert not long.answers.done()
        assert result(long) == [t.text for t in translator.translate(TEXTS, beam=1, align=False)]


def test_unlike_searches_take_turns(gate: Gate) -> None:
    with working(gate, linger=0.2) as worker:
        gate.open.set()
        jobs = [Job([text], Options(beam=1 + n % 2)) for n, text in enumerate(TEXTS[:4])]
        for job in jobs:
            worker.submit(job)
        for job in jobs:
            assert result(job)
    assert [len(batch) for batch in gate.batches] == [2, 2]


def test_a_queue_is_bounded_and_who_leaves_makes_room(gate: Gate) -> None:
    with working(gate, max_queue=3) as worker:
        running, second, third = (Job([text], GREEDY) for text in TEXTS[:3])
        worker.submit(running)
        assert gate.entered.wait(TIMEOUT)
        worker.submit(second)
        worker.submit(third)
        with pytest.raises(Refusal, match="too many requests are waiting") as caught:
            worker.submit(Job(TEXTS[:1], GREEDY))
        assert (caught.value.status, caught.value.headers) == (429, {"Retry-After": "1"})
        assert worker.num_waiting == 3
        second.answers.cancel()
        fourth = Job(TEXTS[3:4], GREEDY)
        worker.submit(fourth)
        gate.open.set()
        assert result(running) and result(third) and result(fourth)
    translated = [text for batch in gate.batches for text in batch]
    assert TEXTS[1] not in translated
    assert (worker.tally.refused, worker.tally.left) == (1, 1)


class Endless:
    """A stepper that never ends by itself: it counts its steps and takes the end away."""

    def __init__(self, stepper: Stepper, eos: int) -> None:
        self.stepper = stepper
        self.eos = eos
        self.num_steps = 0

    def prepare(self) -> None:
        self.stepper.prepare()

    def start(self, *args: Any) -> Any:
        return self.stepper.start(*args)

    def step(self, state: Any, tokens: Any) -> Any:
        self.num_steps += 1
        log_probs = self.stepper.step(state, tokens)
        log_probs[:, self.eos] -= 1000.0
        return log_probs

    def reorder(self, state: Any, rows: Any) -> None:
        self.stepper.reorder(state, rows)


@pytest.mark.parametrize("teller", [None, Teller(lambda *_: None, lambda *_: None, 3)])
def test_a_running_batch_drops_who_leaves(gate: Gate, teller: Teller | None) -> None:
    """The model would write 10,000 pieces; the client leaves after a few."""
    gate.open.set()
    gate.decoding = replace(gate.decoding, max_extra=10_000)
    stepper = Endless(gate.searcher.stepper, gate.tokenisers.target.eos)
    gate.searcher = Searcher(stepper, gate.models, gate.searcher.specials)
    with working(gate) as worker:
        leaving, staying = Job(TEXTS[:1], GREEDY, teller), Job([""], GREEDY)
        worker.submit(leaving)
        until(lambda: stepper.num_steps > 20)
        leaving.answers.cancel()
        worker.submit(staying)
        assert result(staying) == [""]
        assert stepper.num_steps < 2_000


def test_a_job_that_cannot_be_prepared_fails_alone(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translator, "max_positions", 4)
    with working(translator, linger=0.2) as worker:
        bad = Job(TEXTS[:1], Options(beam=1, prefix="the cat the cat the cat the cat"))
        good = Job([""], GREEDY)
        worker.submit(bad)
        worker.submit(good)
        with pytest.raises(ConfigError, match="the prefix has"):
            bad.answers.result(TIMEOUT)
        assert result(good) == [""]


def test_a_failing_model_fails_its_batch_and_not_the_worker(
    monkeypatch: pytest.MonkeyPatch, translator: Translator
) -> None:
    with working(translator) as worker:
        with monkeypatch.context() as broken:
            broken.setattr(translator.searcher.stepper, "step", lambda *_: 1 / 0)
            for teller in (None, Teller(lambda *_: None, lambda *_: None, 3)):
                job = Job(TEXTS[:1], GREEDY, teller)
                worker.submit(job)
                with pytest.raises(ZeroDivisionError):
                    job.answers.result(TIMEOUT)
        good = Job(TEXTS[:1], GREEDY)
        worker.submit(good)
        assert result(good)
        assert worker.is_alive


def test_other_work_is_done_between_batches_in_the_same_thread(gate: Gate) -> None:
    with working(gate, max_queue=2) as worker:
        job = Job(TEXTS[:1], GREEDY)
        worker.submit(job)
        assert gate.entered.wait(TIMEOUT)
        called = worker.call(threading.current_thread)
        with pytest.raises(Refusal, match="too many requests"):
            worker.call(threading.current_thread)
        gate.open.set()
        assert called.result(TIMEOUT) is worker._thread
        assert result(job)
        broken = worker.call(lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            broken.result(TIMEOUT)
        assert worker.is_alive


def test_calls_wait_in_the_queue_like_jobs_and_who_leaves_makes_room(gate: Gate) -> None:
    with working(gate, max_queue=2) as worker:
        job = Job(TEXTS[:1], GREEDY)
        worker.submit(job)
        assert gate.entered.wait(TIMEOUT)
        leaving = worker.call(lambda: 1)
        assert worker.num_waiting == 2
        leaving.cancel()
        assert worker.num_waiting == 1
        staying = worker.call(lambda: 2)
        assert worker.num_waiting == 2
        gate.open.set()
        assert staying.result(TIMEOUT) == 2
        assert result(job)
        until(lambda: worker.num_waiting == 0)
    assert (worker.tally.refused, worker.tally.left) == (0, 1)


def test_a_call_that_runs_still_takes_its_place(translator: Translator) -> None:
    entered, leave = threading.Event(), threading.Event()

    def look() -> bool:
        entered.set()
        return leave.wait(TIMEOUT)

    with working(translator, max_queue=1) as worker:
        called = worker.call(look)
        assert entered.wait(TIMEOUT)
        assert worker.num_waiting == 1
        with pytest.raises(Refusal, match="too many requests"):
            worker.submit(Job(TEXTS[:1], GREEDY))
        leave.set()
        assert called.result(TIMEOUT)


@pytest.mark.parametrize(
    ("own", "options", "is_small"),
    [
        ({}, GREEDY, False),
        ({}, Options(beam=1, align=True), True),
        ({}, Options(beam=1, attention=True), True),
        ({"coverage": 0.2}, GREEDY, True),
        ({"coverage": 0.2, "sample": True}, GREEDY, True),  # here nothing is drawn at random
        ({"replace_unknown": True}, GREEDY, True),
    ],
)
def test_a_watched_batch_is_a_small_one(
    gate: Gate, own: dict[str, Any], options: Options, is_small: bool
) -> None:
    gate.decoding = replace(gate.decoding, **own)
    found = Worker(gate, Limits()).config(options)
    assert found.batch_tokens == (WATCHED_TOKENS if is_small else gate.decoding.batch_tokens)
    assert not found.sample


@pytest.mark.parametrize("text", ["", " ".join(TEXTS[:3])])
def test_only_the_first_sentence_is_translated_where_no_other_is_wanted(
    gate: Gate, translator: Translator, text: str
) -> None:
    gate.open.set()
    with working(gate) as worker:
        job = Job([text], GREEDY, only_first=True)
        worker.submit(job)
        found = result(job)
    first = TEXTS[0] if text else ""
    assert found == [translator.translate(first, beam=1, align=False).text]
    assert gate.batches == ([[first]] if text else [])


def test_a_closed_worker_leaves_nobody_waiting(gate: Gate) -> None:
    with working(gate) as worker:
        jobs = [Job([text], Options(beam=1 + n)) for n, text in enumerate(TEXTS[:3])]
        for job in jobs:
            worker.submit(job)
        assert gate.entered.wait(TIMEOUT)
        gate.open.set()
    assert all(job.answers.done() for job in jobs)
    assert not worker.is_alive
    with pytest.raises(Refusal):
        worker.submit(Job(TEXTS[:1], GREEDY))
