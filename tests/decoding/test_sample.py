"""Sampling: from the right distribution, and from a stream of its own for each sentence."""

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.decoding.greedy import greedy_search
from regard.decoding.sample import narrow, sample
from regard.shapes import Tensor
from tests.decoding.steppers import (
    EOS,
    SPECIALS,
    UNK,
    TableStepper,
    fixed_table,
    random_table,
    request,
)

PROBABILITIES = {UNK: 0.1, EOS: 0.2, 4: 0.4, 5: 0.3}
STEPPER = TableStepper(fixed_table(unk=0.1, eos=0.2, _4=0.4, _5=0.3))
MANY = 3000
SOURCES = [[4, 5], [5], [4, 4, 5]]


def first_tokens(
    temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, seed: int = 1
) -> dict[int, float]:
    """How often each token came first among many samples."""
    found = sample(
        STEPPER,
        request([[4]] * MANY, 2),
        SPECIALS,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
    )
    counts = Counter(h.tokens[0] if h.tokens else EOS for h in found)
    return {token: count / MANY for token, count in counts.items()}


def test_tokens_come_as_often_as_they_are_probable() -> None:
    assert first_tokens() == pytest.approx(PROBABILITIES, abs=0.03)


def test_a_low_temperature_favours_the_probable() -> None:
    squares = {token: p**2 for token, p in PROBABILITIES.items()}
    expected = {token: p / sum(squares.values()) for token, p in squares.items()}
    assert first_tokens(temperature=0.5) == pytest.approx(expected, abs=0.03)


def test_top_k_draws_among_the_k_most_probable() -> None:
    assert first_tokens(top_k=2) == pytest.approx({4: 4 / 7, 5: 3 / 7}, abs=0.03)


def test_top_p_draws_among_the_fewest_that_reach_p() -> None:
    assert first_tokens(top_p=0.75) == pytest.approx({4: 4 / 9, 5: 3 / 9, EOS: 2 / 9}, abs=0.03)


@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p", "expected"),
    [
        (1.0, 0, 1.0, [0.1, 0.2, 0.4, 0.3]),
        (1.0, 9, 1.0, [0.1, 0.2, 0.4, 0.3]),
        (1.0, 3, 1.0, [0.0, 2 / 9, 4 / 9, 3 / 9]),
        (1.0, 0, 0.3, [0.0, 0.0, 1.0, 0.0]),
        (1.0, 0, 0.5, [0.0, 0.0, 4 / 7, 3 / 7]),
        (1.0, 2, 0.5, [0.0, 0.0, 1.0, 0.0]),
        (0.5, 2, 1.0, [0.0, 0.0, 16 / 25, 9 / 25]),
    ],
)
def test_a_narrowed_distribution_is_the_known_one(
    temperature: float, top_k: int, top_p: float, expected: list[float]
) -> None:
    log_probs = torch.tensor([[0.1, 0.2, 0.4, 0.3]]).log()
    narrowed = narrow(log_probs, temperature, top_k, top_p)
    torch.testing.assert_close(narrowed, torch.tensor([expected]))


def random_log_probs(seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (3 * torch.randn(4, 9, generator=generator)).log_softmax(-1)


@settings(deadline=None, max_examples=50)
@given(
    seed=st.integers(0, 10_000),
    temperature=st.floats(0.1, 3),
    top_k=st.integers(0, 12),
    top_p=st.floats(0.01, 1),
)
def test_a_narrowed_distribution_sums_to_one_and_keeps_the_best(
    seed: int, temperature: float, top_k: int, top_p: float
) -> None:
    log_probs = random_log_probs(seed)
    narrowed = narrow(log_probs, temperature, top_k, top_p)
    torch.testing.assert_close(narrowed.sum(-1), torch.ones(4))
    assert torch.equal(narrowed.argmax(-1), log_probs.argmax(-1))
    assert top_k == 0 or ((narrowed > 0).sum(-1) <= top_k).all()


def test_what_cannot_come_is_never_drawn() -> None:
    log_probs = torch.tensor([[0.0, 0.5, 0.5]]).log()
    assert narrow(log_probs, 1.0, 0, 1.0)[0, 0] == 0


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_the_best_of_one_is_greedy(seed: int) -> None:
    stepper = TableStepper(random_table(seed))
    drawn = sample(stepper, request(SOURCES), SPECIALS, top_k=1)
    greedy = greedy_search(stepper, request(SOURCES), SPECIALS)
    assert drawn == greedy


def test_the_same_seed_draws_the_same_and_another_another() -> None:
    stepper = TableStepper(random_table(0, sharpness=0.1))
    asked = request([[4]] * 20, 10)
    first, again, other = (sample(stepper, asked, SPECIALS, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_sentences_that_are_equal_are_drawn_apart() -> None:
    stepper = TableStepper(random_table(0, sharpness=0.1))
    found = sample(stepper, request([[4]] * 20, 10), SPECIALS)
    assert len({hypothesis.tokens for hypothesis in found}) > 10


def test_a_sample_does_not_depend_on_its_batch() -> None:
    stepper = TableStepper(random_table(0, sharpness=0.1))
    together = sample(stepper, request(SOURCES, 9), SPECIALS)
    alone = [
        sample(stepper, request([source], 9, numbers=[number]), SPECIALS)[0]
        for number, source in enumerate(SOURCES)
    ]
    assert [h.tokens for h in together] == [h.tokens for h in alone]


def test_the_score_is_the_models_and_not_the_narrowed_log_probability() -> None:
    (found,) = sample(STEPPER, request([[4]], 2), SPECIALS, top_k=1)
    assert found.score == pytest.approx(torch.tensor([0.4, 0.2]).log().sum().item())
