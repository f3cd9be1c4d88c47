"""Multi-head attention: heads one by one, widths of their own, and what is refused."""

import math

import pytest
import torch
from torch import nn

from regard.attention import MultiHead, attend, causal_mask, dot, watching
from regard.errors import ConfigError
from regard.shapes import Tensor

B, T, S, D = 2, 4, 6, 12


def states(length: int, width: int = D, seed: int = 0) -> Tensor:
    return torch.randn(B, length, width, generator=torch.Generator().manual_seed(seed))


def head(projection: nn.Linear, number: int, heads: int, x: Tensor) -> Tensor:
    """What one head sees: x W_i, with W_i the i-th slice of the projection."""
    width = projection.out_features // heads
    rows = slice(number * width, (number + 1) * width)
    return x @ projection.weight[rows].T + projection.bias[rows]


@pytest.mark.parametrize(
    ("heads", "d_key", "d_value"), [(1, None, None), (3, None, None), (2, 5, 7)]
)
def test_the_heads_are_small_attentions_side_by_side(
    heads: int, d_key: int | None, d_value: int | None
) -> None:
    torch.manual_seed(0)
    module = MultiHead(D, heads, d_memory=10, d_key=d_key, d_value=d_value)
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    x, memory = states(T), states(S, 10, seed=1)
    outputs = []
    for number in range(heads):
        query = head(module.query, number, heads, x)
        key = head(module.key, number, heads, memory)
        value = head(module.value, number, heads, memory)
        weights = (query @ key.transpose(1, 2) / math.sqrt(key.shape[-1])).softmax(-1)
        outputs.append(weights @ value)
    expected = module.output(torch.cat(outputs, dim=-1))
    torch.testing.assert_close(module(x, memory), expected, rtol=1e-4, atol=1e-4)


def test_attention_to_itself_is_attention_to_a_copy() -> None:
    module, x = MultiHead(D, 3), states(T)
    torch.testing.assert_close(module(x), module(x, x))


def test_a_memory_projected_beforehand_changes_nothing() -> None:
    module, x, memory = MultiHead(D, 3), states(T), states(S, seed=1)
    mask = torch.arange(S) < torch.tensor([6, 3])[:, None, None, None]  # B 1 1 S
    later = module.attend_to(x, module.project_memory(memory), mask)
    torch.testing.assert_close(later, module(x, memory, mask))


def test_the_causal_flag_is_the_causal_mask() -> None:
    module, x = MultiHead(D, 3), states(T)
    masked = module(x, mask=causal_mask(T, T)[None, None])
    torch.testing.assert_close(module(x, is_causal=True), masked)


def test_a_head_may_have_a_mask_of_its_own() -> None:
    module, x = MultiHead(D, 3), states(T)
    mask = torch.ones(1, 3, 1, T, dtype=torch.bool)
    mask[:, 1, :, 2:] = False
    seen: list[Tensor] = []
    with watching({module.attend: seen.append}):
        module(x, mask=mask)
    (weights,) = seen  # B H T S
    assert (weights[:, 1, :, 2:] == 0).all()
    assert (weights[:, [0, 2]] > 0).all()


def test_the_heads_take_any_score() -> None:
    torch.manual_seed(0)
    module, x = MultiHead(D, 1, score=dot), states(T)
    expected, _ = attend(module.query(x), module.key(x), module.value(x), score=dot)
    torch.testing.assert_close(module(x), module.output(expected))


def test_projections_without_bias_have_none() -> None:
    module, x = MultiHead(D, 3, bias=False), states(T)
    assert all(name.endswith("weight") for name, _ in module.named_parameters())
    torch.testing.assert_close(module(x), module(x, x))


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(ConfigError, match="heads = 5 does not divide d_model = 12"):
        MultiHead(D, 5)
