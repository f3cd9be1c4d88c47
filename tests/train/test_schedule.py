"""Learning rates, step by step."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.train.schedule import ScheduleKind, learning_rate

KINDS: list[ScheduleKind] = ["inverse_sqrt", "cosine", "constant"]
kinds = pytest.mark.parametrize("kind", KINDS)
PEAK, WARMUP, TOTAL = 3e-4, 400, 10_000


def rate(kind: ScheduleKind, step: int, *, warmup: int = WARMUP) -> float:
    return learning_rate(kind, step, peak=PEAK, warmup=warmup, total=TOTAL)


@given(step=st.integers(1, 100_000), d_model=st.integers(1, 2048), warmup=st.integers(1, 8000))
def test_the_inverse_square_root_is_the_papers_equation_3(
    step: int, d_model: int, warmup: int
) -> None:
    paper = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
    ours = learning_rate(
        "inverse_sqrt", step, peak=1 / math.sqrt(d_model * warmup), warmup=warmup, total=100_000
    )
    assert ours == pytest.approx(paper)


@kinds
def test_the_warm_up_is_a_straight_line_to_the_peak(kind: ScheduleKind) -> None:
    climb = [rate(kind, step) for step in (1, 100, 200, 400)]
    assert climb == pytest.approx([PEAK / 400, PEAK / 4, PEAK / 2, PEAK])


@kinds
def test_without_a_warm_up_the_first_step_is_at_the_peak(kind: ScheduleKind) -> None:
    assert rate(kind, 1, warmup=0) == pytest.approx(PEAK)


@kinds
def test_the_rate_never_exceeds_its_peak_and_never_rises_after_the_warm_up(
    kind: ScheduleKind,
) -> None:
    rates = [rate(kind, step) for step in range(1, TOTAL + 1)]
    assert max(rates) == pytest.approx(PEAK)
    after = rates[WARMUP - 1 :]
    assert after == sorted(after, reverse=True)


def test_four_times_the_steps_halve_the_inverse_square_root() -> None:
    assert rate("inverse_sqrt", 4 * WARMUP) == pytest.approx(PEAK / 2)


def test_the_cosine_is_half_way_down_in_the_middle() -> None:
    assert rate("cosine", (WARMUP + TOTAL) // 2) == pytest.approx(PEAK / 2)


@pytest.mark.parametrize("step", [TOTAL, TOTAL + 1, 2 * TOTAL])
def test_the_cosine_ends_at_zero_and_stays_there(step: int) -> None:
    assert rate("cosine", step) == pytest.approx(0, abs=1e-12)


def test_a_constant_rate_is_constant_after_the_warm_up() -> None:
    assert {rate("constant", step) for step in range(WARMUP, TOTAL)} == {PEAK}


@kinds
def test_a_warm_up_as_long_as_the_training_reaches_the_peak_at_its_end(kind: ScheduleKind) -> None:
    assert rate(kind, TOTAL, warmup=TOTAL) == pytest.approx(PEAK)
