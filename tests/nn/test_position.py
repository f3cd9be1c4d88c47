"""The lectures' five criteria for positions, and who meets them."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import RegardError
from regard.nn.position import (
    POSITIONS,
    Fraction,
    Integer,
    Learned,
    Position,
    PositionKind,
    Sinusoid,
    sinusoids,
)
from regard.shapes import Tensor

D = 16
TABLE = 32


def vectors(position: Position, length: int, offset: int = 0) -> Tensor:
    """Of one sentence of this length, T D."""
    tokens = torch.zeros(1, length, dtype=torch.long)
    signal: Tensor = position(tokens, offset, torch.tensor([length]))
    return signal[0]


def step_distance(position: Position, length: int) -> Tensor:
    """From each position to the next, T−1."""
    return vectors(position, length).diff(dim=0).square().sum(1).sqrt()


@pytest.mark.parametrize("d_model", [16, 15])
def test_sinusoids_follow_the_formula(d_model: int) -> None:
    table = sinusoids(5000, d_model)
    for pos in (0, 1, 2, 3, 49, 1023, 4999):
        for channel in range(d_model):
            angle = pos / 10_000 ** ((channel - channel % 2) / d_model)
            expected = math.cos(angle) if channel % 2 else math.sin(angle)
            assert table[pos, channel].item() == pytest.approx(expected, abs=1e-6)


def test_a_sinusoid_is_unique_at_every_position() -> None:
    assert len(sinusoids(2000, D).unique(dim=0)) == 2000


def test_a_sinusoid_is_bounded_by_one() -> None:
    assert sinusoids(2000, D).abs().max() <= 1


def test_a_sinusoid_is_deterministic() -> None:
    assert torch.equal(vectors(Sinusoid(D, TABLE), 20), vectors(Sinusoid(D, TABLE), 20))


def test_two_steps_of_a_sinusoid_are_as_far_apart_whatever_the_length() -> None:
    position = Sinusoid(D, TABLE)
    short, long = step_distance(position, 10), step_distance(position, 30)
    torch.testing.assert_close(short, long[:9])
    torch.testing.assert_close(long, long[:1].expand(29))


def test_a_sinusoid_is_valid_beyond_its_table() -> None:
    position = Sinusoid(D, TABLE)
    assert torch.equal(vectors(position, 3 * TABLE), sinusoids(3 * TABLE, D))


def test_growing_its_table_moves_no_sinusoid() -> None:
    position = Sinusoid(D, TABLE)
    before = vectors(position, TABLE)
    vectors(position, 3 * TABLE)
    assert torch.equal(vectors(position, TABLE), before)


def test_a_step_of_a_fraction_depends_on_the_length() -> None:
    position = Fraction(D, TABLE)
    assert step_distance(position, 30)[0] < step_distance(position, 10)[0] / 3


def test_a_fraction_runs_from_zero_to_one() -> None:
    fractions = vectors(Fraction(D, TABLE), 5)
    assert torch.equal(fractions, torch.linspace(0, 1, 5).unsqueeze(1).expand(5, D))


def test_a_sentence_of_one_token_stands_at_fraction_zero() -> None:
    assert torch.equal(vectors(Fraction(D, 1), 1), torch.zeros(1, D))


def test_integers_have_no_bound() -> None:
    assert vectors(Integer(D, TABLE), 5000).max() == 4999


def test_a_learned_position_beyond_the_last_is_an_error_with_both_numbers() -> None:
    with pytest.raises(RegardError, match=r"1,025 pieces is longer than the model's 1,024 learned"):
        vectors(Learned(D, 1024), 1025)


def test_learned_positions_are_learned() -> None:
    assert [name for name, _ in Learned(D, TABLE).named_parameters()] == ["weight"]


@settings(deadline=None, max_examples=25)
@given(offset=st.integers(0, 20), length=st.integers(1, 10))
@pytest.mark.parametrize("kind", POSITIONS)
def test_a_later_start_continues_the_same_positions(
    kind: PositionKind, offset: int, length: int
) -> None:
    position = POSITIONS[kind](D, TABLE)
    whole = position(torch.zeros(1, TABLE, dtype=torch.long))
    part = position(torch.zeros(1, length, dtype=torch.long), offset)
    assert torch.equal(
        part.expand(1, length, D), whole.expand(1, TABLE, D)[:, offset : offset + length]
    )


@pytest.mark.parametrize("kind", POSITIONS)
def test_positions_are_where_the_tokens_are(kind: PositionKind) -> None:
    position = POSITIONS[kind](D, TABLE).to("meta")
    assert position(torch.zeros(1, 4, dtype=torch.long, device="meta")).device.type == "meta"
