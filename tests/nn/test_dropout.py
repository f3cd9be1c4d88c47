"""Dropout by bytes: as random as it should be, and the same on the way back."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.native import kernels
from regard.nn.dropout import Dropout, random_bytes
from regard.plain import plain
from regard.shapes import Tensor

MANY = 400_000


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5])
def test_the_mean_is_preserved(probability: float) -> None:
    torch.manual_seed(0)
    assert Dropout(probability)(torch.ones(MANY)).mean().item() == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("probability", [0.004, 0.1, 0.3, 0.5, 0.9])
def test_the_fraction_asked_for_is_dropped(probability: float) -> None:
    torch.manual_seed(0)
    dropped = Dropout(probability)(torch.ones(MANY)) == 0
    assert dropped.float().mean().item() == pytest.approx(probability, abs=1 / 512 + 0.003)


def test_what_is_kept_is_scaled_by_the_probability_really_used() -> None:
    kept = Dropout(0.1)(torch.ones(1000)).unique()
    torch.testing.assert_close(kept, torch.tensor([0.0, 256 / (256 - 26)]))


def test_the_gradient_passes_where_the_value_passed() -> None:
    x = torch.ones(1000, requires_grad=True)
    y = Dropout(0.3)(x)
    y.sum().backward()
    assert x.grad is not None and torch.equal(x.grad, y.detach())


def test_adding_what_is_left_is_dropping_and_then_adding() -> None:
    x, y = torch.randn(2, 1000)
    dropout = Dropout(0.3)
    torch.manual_seed(7)
    together = dropout.add(x, y)
    torch.manual_seed(7)
    torch.testing.assert_close(together, x + dropout(y))


def test_the_gradient_of_a_sum_reaches_both_parts() -> None:
    x, y = torch.randn(2, 1000).unbind()
    x.requires_grad_(), y.requires_grad_()
    together = Dropout(0.3).add(x, y)
    together.sum().backward()
    kept = (together - x).detach() / y.detach()
    assert x.grad is not None and torch.equal(x.grad, torch.ones(1000))
    assert y.grad is not None
    torch.testing.assert_close(y.grad, kept, rtol=1e-3, atol=1e-3)


def test_the_plain_formula_is_torchs_dropout() -> None:
    torch.manual_seed(7)
    with plain():
        ours = Dropout(0.5)(torch.ones(100))
    torch.manual_seed(7)
    assert torch.equal(ours, torch.nn.functional.dropout(torch.ones(100), 0.5))


def test_evaluation_drops_nothing() -> None:
    x = torch.randn(100)
    assert torch.equal(Dropout(0.5).eval()(x), x)


def test_a_probability_of_zero_drops_nothing() -> None:
    x = torch.randn(100)
    assert torch.equal(Dropout(0.0)(x), x)


def mask_of(seed: int, count: int, num_dropped: int) -> Tensor:
    """Which of so many numbers the kernel keeps, written out."""
    with np.errstate(over="ignore"):
        places = np.arange(1, -(-count // 64) * 8 + 1, dtype=np.uint64)
        z = np.uint64(seed) + places * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    # A block is sixteen numbers of four bytes; the first sixteen numbers get their lowest bytes.
    drawn = z.astype("<u8").view(np.uint8).reshape(-1, 16, 4).transpose(0, 2, 1).reshape(-1)
    return torch.from_numpy(drawn[:count] >= num_dropped)


@pytest.mark.skipif(not kernels.has_kernels(), reason="there is no kernel")
@given(
    count=st.integers(0, 300),
    seed=st.integers(0, 2**63 - 1),
    num_dropped=st.integers(1, 255),
    has_x=st.booleans(),
)
def test_the_kernel_drops_what_the_formula_says(
    count: int, seed: int, num_dropped: int, has_x: bool
) -> None:
    x, y = torch.randn(2, count)
    found = kernels.add_dropped(x if has_x else None, y, seed, num_dropped)
    kept = mask_of(seed, count, num_dropped) * (y * (256 / (256 - num_dropped)))
    torch.testing.assert_close(found, x + kept if has_x else kept)


@pytest.mark.parametrize("has_kernels", [True, False])
@pytest.mark.parametrize("far", [1, 2, 16, 64, 128])
def test_what_is_dropped_says_nothing_of_others(
    monkeypatch: pytest.MonkeyPatch, has_kernels: bool, far: int
) -> None:
    if not has_kernels:
        monkeypatch.setattr(kernels, "has_kernels", lambda: False)
    torch.manual_seed(0)
    kept = (Dropout(0.5)(torch.ones(MANY)) > 0).float()
    assert torch.corrcoef(torch.stack([kept[far:], kept[:-far]]))[0, 1].abs() < 0.01


@pytest.mark.parametrize("lane", range(8))
def test_every_byte_of_a_random_word_is_used_in_full(lane: int) -> None:
    torch.manual_seed(0)
    drawn = random_bytes(MANY, torch.device("cpu")).view(-1, 8)[:, lane]
    assert drawn.float().mean().item() == pytest.approx(127.5, abs=2)
    assert len(drawn.unique()) == 256


def test_the_lanes_of_a_word_are_independent() -> None:
    torch.manual_seed(0)
    lanes = random_bytes(MANY, torch.device("cpu")).view(-1, 8).float()
    correlation = torch.corrcoef(lanes.T) - torch.eye(8)
    assert correlation.abs().max() < 0.02


def test_the_same_seed_drops_the_same() -> None:
    dropout, x = Dropout(0.3), torch.ones(100)
    torch.manual_seed(7)
    first, second = dropout(x), dropout(x)
    torch.manual_seed(7)
    assert torch.equal(dropout(x), first)
    assert not torch.equal(first, second)


@settings(deadline=None, max_examples=25)
@given(shape=st.lists(st.integers(0, 7), min_size=1, max_size=3))
def test_any_shape_keeps_its_shape(shape: list[int]) -> None:
    assert Dropout(0.5)(torch.ones(shape)).shape == tuple(shape)


@pytest.mark.parametrize("probability", [-0.1, 1.0])
def test_a_probability_outside_zero_to_one_is_refused(probability: float) -> None:
    with pytest.raises(AssertionError):
        Dropout(probability)
