"""Layer norm looks at one position, batch norm at all real ones of a batch."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.nn.norm import BatchNorm, LayerNorm
from regard.shapes import Tensor

B, T, D = 3, 5, 8


def states(seed: int = 0) -> Tensor:
    return 3 * torch.randn(B, T, D, generator=torch.Generator().manual_seed(seed)) + 1


def stir(norm: LayerNorm | BatchNorm) -> None:
    """Give γ and β values that would be missed."""
    torch.manual_seed(1)
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)


MASK = torch.arange(T) < torch.tensor([5, 3, 1]).unsqueeze(1)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_layer_norm_follows_the_formula(seed: int) -> None:
    norm, x = LayerNorm(D), states(seed)
    stir(norm)
    mean = x.mean(-1, keepdim=True)
    variance = (x - mean).square().mean(-1, keepdim=True)
    expected = (x - mean) / (variance + norm.eps).sqrt() * norm.weight + norm.bias
    torch.testing.assert_close(norm(x), expected)


def test_layer_norm_looks_at_one_position_alone() -> None:
    norm, x = LayerNorm(D), states()
    moved = x.clone()
    moved[1, 2] += torch.arange(D)
    is_moved = (norm(x) != norm(moved)).any(-1)
    assert is_moved.nonzero().tolist() == [[1, 2]]


def test_batch_norm_follows_the_formula_over_the_real_positions() -> None:
    norm, x = BatchNorm(D), states()
    stir(norm)
    real = torch.stack([x[b, t] for b in range(B) for t in range(T) if MASK[b, t]])
    mean = real.mean(0)
    variance = (real - mean).square().mean(0)
    expected = (x - mean) / (variance + norm.eps).sqrt() * norm.weight + norm.bias
    torch.testing.assert_close(norm(x, MASK), expected)


def test_batch_norm_in_training_depends_on_the_neighbours() -> None:
    norm, x = BatchNorm(D), states()
    assert not torch.allclose(norm(x)[:1], norm(x[:1]))


def test_padding_changes_nothing_in_batch_norm() -> None:
    x = states()
    padded = x.masked_fill(~MASK.unsqueeze(-1), 1e4)
    one, other = BatchNorm(D), BatchNorm(D)
    torch.testing.assert_close(one(x, MASK)[MASK], other(padded, MASK)[MASK])
    torch.testing.assert_close(one.running_mean, other.running_mean)
    torch.testing.assert_close(one.running_var, other.running_var)


def test_running_averages_move_a_tenth_of_the_way() -> None:
    norm, x = BatchNorm(D), states()
    norm(x)
    flat = x.flatten(0, 1)
    torch.testing.assert_close(norm.running_mean, 0.1 * flat.mean(0))
    torch.testing.assert_close(norm.running_var, 0.9 + 0.1 * flat.var(0, unbiased=False))


def test_batch_norm_in_evaluation_uses_the_running_averages() -> None:
    norm = BatchNorm(D)
    for seed in range(200):
        norm(states(seed))
    norm.eval()
    x = states(seed=300)
    expected = (x - norm.running_mean) / (norm.running_var + norm.eps).sqrt()
    torch.testing.assert_close(norm(x), expected)
    torch.testing.assert_close(norm(x[:1]), expected[:1])


def test_evaluation_leaves_the_running_averages_alone() -> None:
    norm = BatchNorm(D).eval()
    norm(states())
    assert torch.equal(norm.running_mean, torch.zeros(D))
    assert torch.equal(norm.running_var, torch.ones(D))
