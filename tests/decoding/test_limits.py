"""What is fixed about a target: its longest length, its beginning, and what may never come."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.decoding.config import DecodingConfig
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.search import decode, decode_batch, requests
from regard.errors import ConfigError
from tests.decoding.steppers import (
    BOS,
    EOS,
    PAD,
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

METHODS = {
    "greedy": DecodingConfig(beam=1, alpha=0.0),
    "beam": DecodingConfig(beam=3, n_best=3, alpha=0.0),
    "late": DecodingConfig(beam=3, n_best=2, alpha=1.0, early_exit=False),
    "sample": DecodingConfig(sample=True, n_best=2),
}
methods = pytest.mark.parametrize("config", METHODS.values(), ids=METHODS)
seeds = st.integers(0, 10_000)


def after(table: Table, beginning: Prefix) -> Table:
    """The table that is left once the beginning has been said."""

    def rest(source: Source, prefix: Prefix) -> list[float]:
        return list(table(source, (*beginning, *prefix)))

    return rest


@methods
def test_each_sentence_has_a_longest_length_of_its_own(config: DecodingConfig) -> None:
    endless = TableStepper(fixed_table(_4=0.5, _5=0.3, unk=0.1999, eos=0.0001))
    found = decode_batch(endless, request([[4], [5], [4, 5]], [3, 7, 5]), SPECIALS, config)
    assert [{len(h.tokens) for h in hypotheses} for hypotheses in found] == [{2}, {6}, {4}]


@settings(deadline=None, max_examples=15)
@given(seed=seeds, lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4))
@methods
def test_no_target_is_longer_than_its_limit(
    config: DecodingConfig, seed: int, lengths: list[int]
) -> None:
    stepper = TableStepper(random_table(seed))
    found = decode_batch(stepper, request([[4]] * len(lengths), lengths), SPECIALS, config)
    for length, hypotheses in zip(lengths, found, strict=True):
        assert hypotheses
        for hypothesis in hypotheses:
            assert len(hypothesis.tokens) + 1 == len(hypothesis.log_probs) <= length


def test_the_limit_depends_on_the_source_alone() -> None:
    config = DecodingConfig(max_ratio=1.5, max_extra=4)
    assert [config.max_length(n) for n in (0, 1, 10)] == [4, 5, 19]


@settings(deadline=None, max_examples=15)
@given(seed=seeds, prefixes=st.lists(st.lists(st.sampled_from(WORDS), max_size=3), min_size=1))
@methods
def test_a_target_begins_as_it_must(
    config: DecodingConfig, seed: int, prefixes: list[list[int]]
) -> None:
    stepper = TableStepper(random_table(seed))
    asked = request([[4, 5]] * len(prefixes), 5, prefixes)
    for prefix, hypotheses in zip(
        prefixes, decode_batch(stepper, asked, SPECIALS, config), strict=True
    ):
        for hypothesis in hypotheses:
            assert list(hypothesis.tokens[: len(prefix)]) == prefix


@settings(deadline=None, max_examples=15)
@given(seed=seeds, beginning=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(tuple))
@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_a_forced_beginning_goes_on_as_if_it_had_been_said(
    method: str, seed: int, beginning: Prefix
) -> None:
    table, config = random_table(seed), METHODS[method]
    asked = request([[4, 5]], 4 + len(beginning), [beginning])
    (forced,) = decode_batch(TableStepper(table), asked, SPECIALS, config)
    (free,) = decode_batch(
        TableStepper(after(table, beginning)), request([[4, 5]], 4), SPECIALS, config
    )
    assert [h.tokens for h in forced] == [(*beginning, *h.tokens) for h in free]
    for one, other in zip(forced, free, strict=True):
        assert one.log_probs[len(beginning) :] == pytest.approx(other.log_probs, abs=1e-4)


def test_a_beginning_longer_than_the_limit_is_said_in_full() -> None:
    asked = request([[4]], 2, [(4, 5, 4, 5)])
    (found,) = decode_batch(TableStepper(random_table(0)), asked, SPECIALS, METHODS["beam"])
    assert {hypothesis.tokens for hypothesis in found} == {(4, 5, 4, 5)}


@methods
def test_padding_and_the_start_token_are_never_said(config: DecodingConfig) -> None:
    def tempting(source: Source, prefix: Prefix) -> list[float]:
        return [0.45, 0.02, 0.45, 0.03, 0.03, 0.02]

    found = decode_batch(TableStepper(tempting), request([[4]] * 5, 6), SPECIALS, config)
    for hypotheses in found:
        for hypothesis in hypotheses:
            assert not {PAD, BOS, EOS} & set(hypothesis.tokens)


def test_sources_are_padded_behind_their_end() -> None:
    asked = request([[4, 5], [], [5]])
    assert asked.source.tolist() == [[4, 5, EOS], [EOS, PAD, PAD], [5, EOS, PAD]]
    assert torch.equal(asked.source_mask, asked.source != PAD)


def test_more_hypotheses_than_the_beam_holds_are_refused() -> None:
    message = "n_best = 5 is more than beam = 4; a beam of 5 keeps that many"
    with pytest.raises(ConfigError, match=message):
        DecodingConfig(beam=4, n_best=5)


def test_a_sample_may_be_drawn_more_often_than_the_beam_is_wide() -> None:
    config = DecodingConfig(sample=True, beam=1, n_best=5)
    (found,) = decode(TableStepper(random_table(0)), [[4]], SPECIALS, config)
    assert len(found) == 5
    assert len({hypothesis.tokens for hypothesis in found}) > 1
    assert found == sorted(found, key=lambda hypothesis: -hypothesis.score)


def test_the_log_probability_of_a_hypothesis_is_the_sum_over_its_tokens() -> None:
    assert Hypothesis((4,), -1.0, (-0.5, -1.5), (0, 0)).log_prob == -2.0


@methods
def test_a_sentence_that_nobody_waits_for_ends_and_changes_no_other(
    config: DecodingConfig,
) -> None:
    stepper = TableStepper(random_table(3, sharpness=0.3))
    asked = request([[4], [5], [4, 5]], 9, [(), (4, 4, 4), ()])
    steps = 0

    def is_wanted(number: int) -> bool:
        nonlocal steps
        steps += number == 1
        return number != 1 or steps < 3

    patient = decode_batch(stepper, asked, SPECIALS, config)
    found = decode_batch(stepper, replace(asked, is_wanted=is_wanted), SPECIALS, config)
    assert steps == 3
    for number in (0, 2):  # rows of the state move up when a sentence leaves
        assert [(h.tokens, h.log_probs) for h in found[number]] == [
            (h.tokens, h.log_probs) for h in patient[number]
        ]
    assert {hypothesis.tokens for hypothesis in found[1]} == {(4, 4)}


@pytest.mark.parametrize("beam", [1, 3])
def test_a_sentence_without_a_prefix_can_be_given_up(beam: int) -> None:
    stepper = TableStepper(random_table(3, sharpness=0.3))
    asked = request([[4], [5]], 9, [(), ()])
    calls = {0: 0, 1: 0}

    def is_wanted(number: int) -> bool:
        calls[number] += 1
        return number != 1 or calls[1] < 3

    config = DecodingConfig(beam=beam)
    _, found = decode_batch(stepper, replace(asked, is_wanted=is_wanted), SPECIALS, config)
    assert max(len(hypothesis.tokens) for hypothesis in found) <= 2


def test_a_batch_that_nobody_waits_for_is_not_begun() -> None:
    config = DecodingConfig(batch_tokens=6)
    sources = [[4] * 5, [5] * 4, [4]]
    left = [r.numbers for r in requests(sources, SPECIALS, config, is_wanted=lambda n: n != 1)]
    assert left == [(0,), (2,)]
