"""Beam search against slow searches over tables of probabilities."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.decoding.beam import beam_search
from regard.decoding.greedy import greedy_search
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.penalty import Penalty, PenaltyKind, length_penalty, no_penalty
from tests.decoding.steppers import (
    EOS,
    SPECIALS,
    WORDS,
    Prefix,
    Source,
    Table,
    TableStepper,
    fixed_table,
    random_table,
    request,
)

SOURCES: list[list[int]] = [[4, 5], [5], [4, 4, 5]]
seeds = st.integers(0, 10_000)
Ranked = list[tuple[float, Prefix]]

PENALTIES: dict[str, Penalty] = {
    "none": no_penalty,
    "length": length_penalty("length", 1.0),
    "gnmt": length_penalty("gnmt", 0.6),
}
penalties = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)


def log_prob(table: Table, source: Source, tokens: Prefix) -> float:
    """Of the tokens and their end."""
    steps = enumerate((*tokens, EOS))
    return sum(math.log(table(source, tokens[:at])[token]) for at, token in steps)


def exhaustive(table: Table, source: Source, max_length: int, penalty: Penalty) -> Ranked:
    """Every target there is, best first."""
    targets = itertools.chain.from_iterable(
        itertools.product(WORDS, repeat=length) for length in range(max_length)
    )
    scored = [(log_prob(table, source, t) / penalty(len(t) + 1), t) for t in targets]
    return sorted(scored, reverse=True)


def slow_beam(
    table: Table, source: Source, max_length: int, penalty: Penalty, beam: int, early_exit: bool
) -> Ranked:
    """Beam search of one sentence in plain Python, which never stops for a bound."""
    living: Ranked = [(0.0, ())]
    finished: Ranked = []
    for step in range(max_length):
        choices = (EOS,) if step == max_length - 1 else (EOS, *WORDS)
        extended = [
            (total + math.log(table(source, tokens)[choice]), (*tokens, choice))
            for total, tokens in living
            for choice in choices
        ]
        extended.sort(reverse=True)
        finished += [
            (total / penalty(len(tokens)), tokens[:-1])
            for total, tokens in extended[:beam]
            if tokens[-1] == EOS
        ]
        living = [one for one in extended[: 2 * beam] if one[1][-1] != EOS][:beam]
        if early_exit and len(finished) >= beam:
            break
    return sorted(finished, reverse=True)


def assert_ranked(found: list[Hypothesis], expected: Ranked) -> None:
    assert [hypothesis.tokens for hypothesis in found] == [tokens for _, tokens in expected]
    scores = [score for score, _ in expected]
    assert [hypothesis.score for hypothesis in found] == pytest.approx(scores, abs=1e-4)


@settings(deadline=None, max_examples=10)
@given(seed=seeds)
@penalties
def test_a_beam_of_everything_finds_every_target_in_order(seed: int, penalty: Penalty) -> None:
    table = random_table(seed)
    found = beam_search(
        TableStepper(table),
        request(SOURCES, 4),
        SPECIALS,
        beam=120,
        n_best=120,
        penalty=penalty,
        early_exit=False,
    )
    for source, hypotheses in zip(SOURCES, found, strict=True):
        assert_ranked(hypotheses, exhaustive(table, (*source, EOS), 4, penalty))


@settings(deadline=None, max_examples=10)
@given(seed=seeds)
@penalties
def test_a_beam_of_everything_stops_only_when_nothing_better_can_come(
    seed: int, penalty: Penalty
) -> None:
    table = random_table(seed)
    found = beam_search(
        TableStepper(table),
        request(SOURCES, 4),
        SPECIALS,
        beam=120,
        penalty=penalty,
        early_exit=False,
    )
    for source, hypotheses in zip(SOURCES, found, strict=True):
        assert_ranked(hypotheses, exhaustive(table, (*source, EOS), 4, penalty)[:1])


@settings(deadline=None, max_examples=15)
@given(seed=seeds, beam=st.integers(1, 5))
@pytest.mark.parametrize("early_exit", [True, False])
@penalties
def test_a_beam_of_any_width_equals_the_slow_search(
    seed: int, beam: int, early_exit: bool, penalty: Penalty
) -> None:
    table = random_table(seed)
    found = beam_search(
        TableStepper(table),
        request(SOURCES, [5, 3, 6]),
        SPECIALS,
        beam=beam,
        penalty=penalty,
        early_exit=early_exit,
    )
    for source, length, hypotheses in zip(SOURCES, [5, 3, 6], found, strict=True):
        slow = slow_beam(table, (*source, EOS), length, penalty, beam, early_exit)
        assert_ranked(hypotheses, slow[:1])


@settings(deadline=None, max_examples=25)
@given(seed=seeds)
def test_a_beam_of_one_is_greedy_search(seed: int) -> None:
    stepper = TableStepper(random_table(seed))
    greedy = greedy_search(stepper, request(SOURCES), SPECIALS)
    beam = beam_search(stepper, request(SOURCES), SPECIALS, beam=1)
    assert [h.tokens for h in greedy] == [h.tokens for (h,) in beam]
    assert [h.score for h in greedy] == pytest.approx([h.score for (h,) in beam], abs=1e-5)
    assert [h.rows for h in greedy] == [h.rows for (h,) in beam]


@settings(deadline=None, max_examples=25)
@given(seed=seeds)
def test_the_n_best_are_sorted_and_distinct(seed: int) -> None:
    stepper = TableStepper(random_table(seed))
    penalty = PENALTIES["length"]
    for found in beam_search(
        stepper, request(SOURCES), SPECIALS, beam=4, n_best=4, penalty=penalty
    ):
        assert len({hypothesis.tokens for hypothesis in found}) == len(found) == 4
        scores = [hypothesis.score for hypothesis in found]
        assert scores == sorted(scores, reverse=True)


@settings(deadline=None, max_examples=25)
@given(seed=seeds, beam=st.integers(1, 4))
def test_searching_on_never_finds_worse_than_leaving_early(seed: int, beam: int) -> None:
    stepper = TableStepper(random_table(seed))
    early, late = (
        beam_search(
            stepper,
            request(SOURCES),
            SPECIALS,
            beam=beam,
            penalty=PENALTIES["length"],
            early_exit=early_exit,
        )
        for early_exit in (True, False)
    )
    for (one,), (other,) in zip(early, late, strict=True):
        assert other.score >= one.score


def hesitant(source: Source, prefix: Prefix) -> list[float]:
    """Ends at once, a little more likely than not; but once it has begun, it says 4 4 4."""
    end = 0.51 if not prefix else 0.01 if len(prefix) < 3 else 0.97
    return [0.0, 0.01, 0.0, end, 0.98 - end, 0.01]


@pytest.mark.parametrize(("early_exit", "tokens"), [(True, ()), (False, (4, 4, 4))])
def test_leaving_early_may_miss_a_better_long_target(early_exit: bool, tokens: Prefix) -> None:
    ((found,),) = beam_search(
        TableStepper(hesitant),
        request([[4]], 8),
        SPECIALS,
        beam=1,
        penalty=PENALTIES["length"],
        early_exit=early_exit,
    )
    assert found.tokens == tokens


@penalties
def test_the_score_is_the_log_probability_over_the_penalty(penalty: Penalty) -> None:
    table = random_table(3)
    (found,) = beam_search(
        TableStepper(table), request([[4]]), SPECIALS, beam=3, n_best=3, penalty=penalty
    )
    for hypothesis in found:
        total = log_prob(table, (4, EOS), hypothesis.tokens)
        assert hypothesis.log_prob == pytest.approx(total, abs=1e-5)
        assert hypothesis.score == pytest.approx(total / penalty(len(hypothesis.tokens) + 1))


@pytest.mark.parametrize(
    ("kind", "alpha", "length", "divisor"),
    [
        ("length", 0.0, 7, 1.0),
        ("length", 1.0, 7, 7.0),
        ("length", 0.5, 9, 3.0),
        ("gnmt", 0.0, 7, 1.0),
        ("gnmt", 1.0, 1, 1.0),
        ("gnmt", 1.0, 7, 2.0),
        ("gnmt", 0.6, 19, 4**0.6),
    ],
)
def test_the_penalty_follows_its_formula(
    kind: PenaltyKind, alpha: float, length: int, divisor: float
) -> None:
    assert length_penalty(kind, alpha)(length) == pytest.approx(divisor)


def test_a_token_that_cannot_come_is_never_chosen() -> None:
    table = fixed_table(_4=0.6, eos=0.4)
    (found,) = beam_search(
        TableStepper(table), request([[4]], 4), SPECIALS, beam=4, n_best=4, early_exit=False
    )
    assert [hypothesis.tokens for hypothesis in found] == [(), (4,), (4, 4), (4, 4, 4)]
