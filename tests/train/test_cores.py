"""Work shared out among cores is the work done at once."""

import threading

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from regard.models.transformer import Transformer, TransformerConfig
from regard.shapes import Tensor
from regard.train.clip import clip_
from regard.train.config import TrainConfig
from regard.train.cores import Cores, equal_shares
from regard.train.ema import MovingAverage
from regard.train.optimiser import build_optimiser

NUMBERS = [1, 2, 3]


@given(sizes=st.lists(st.integers(1, 50), max_size=20), number=st.integers(1, 4))
def test_shares_are_about_equal_and_none_is_empty(sizes: list[int], number: int) -> None:
    shares = equal_shares(sizes, number)
    assert sorted(place for share in shares for place in share) == list(range(len(sizes)))
    assert len(shares) == min(number, len(sizes))
    held = [sum(sizes[place] for place in share) for share in shares]
    assert max(held, default=0) - min(held, default=0) <= max(sizes, default=0)


def test_each_core_has_an_operation_to_itself() -> None:
    together, threads = threading.Barrier(2), torch.get_num_threads()
    torch.set_num_threads(2)

    def look(share: list[Tensor]) -> tuple[int, bool, int]:
        together.wait(10)
        return torch.get_num_threads(), torch.is_grad_enabled(), len(share)

    try:
        found = Cores(2).each(look, [torch.zeros(n) for n in (5, 1, 1, 3)])
    finally:
        torch.set_num_threads(threads)
    assert found == [(1, False, 1), (1, False, 3)]


def test_what_belongs_together_stays_together() -> None:
    ones = [torch.full((n,), float(n)) for n in range(1, 8)]
    others = [torch.full((n,), 10.0 * n) for n in range(1, 8)]
    Cores(3).each(torch._foreach_add_, ones, others)
    assert [each.tolist() for each in ones] == [[11.0 * n] * n for n in range(1, 8)]


def test_what_one_raises_is_raised() -> None:
    with pytest.raises(RuntimeError, match="size of tensor"):
        Cores(2).each(torch._foreach_add_, [torch.zeros(3)] * 2, [torch.zeros(2)] * 2)


def gradients() -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(shape, generator=generator) for shape in ((40, 3), (7,), (300, 5), (1,))]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("limit", [0.5, 1e6, float("inf")])
def test_a_long_gradient_is_cut_as_torch_cuts_it(number: int, limit: float) -> None:
    found, expected = gradients(), [nn.Parameter(torch.zeros(())) for _ in gradients()]
    for parameter, gradient in zip(expected, gradients(), strict=True):
        parameter.data = torch.zeros_like(gradient)
        parameter.grad = gradient
    norm = float(nn.utils.clip_grad_norm_(expected, limit))
    assert clip_(found, limit, Cores(number)) == pytest.approx(norm)
    torch.testing.assert_close(found, [parameter.grad for parameter in expected])


def after_steps(number: int) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The weights after three steps, and what follows them."""
    torch.manual_seed(1)
    config = TransformerConfig(d_model=8, heads=2, d_ff=16, encoder_layers=1, decoder_layers=1)
    model, cores = Transformer(config, 11, 11), Cores(number)
    optimiser = build_optimiser(model, TrainConfig(), cores)
    average = MovingAverage(model, 0.9, cores)
    for step in range(3):
        for parameter in model.parameters():
            parameter.grad = torch.randn_like(parameter)
        optimiser.step(0.01)
        average.follow(step + 1)
    return dict(model.state_dict()), dict(average.model.state_dict())


@pytest.mark.parametrize("number", NUMBERS[1:])
def test_a_step_is_the_same_to_the_bit_however_many_take_it(number: int) -> None:
    for found, expected in zip(after_steps(number), after_steps(1), strict=True):
        assert found.keys() == expected.keys()
        assert all(torch.equal(found[name], expected[name]) for name in found)
