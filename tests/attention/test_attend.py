"""The recipe: softmax over keys, weighted sum of values, masks, and the module around it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.attention import (
    Attend,
    Bilinear,
    attend,
    causal_mask,
    dot,
    padding_mask,
    watching,
)
from regard.shapes import Tensor

B, H, T, S, K = 2, 3, 4, 5, 6


@dataclass
class Scene:
    """Random queries, keys and values of one batch."""

    query: Tensor
    keys: Tensor
    values: Tensor

    def __iter__(self) -> Iterator[Tensor]:
        return iter((self.query, self.keys, self.values))


def scene(*, seed: int = 0, num_keys: int = S) -> Scene:
    generator = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator).requires_grad_()

    return Scene(random(B, H, T, K), random(B, H, num_keys, K), random(B, H, num_keys, K))


def random_mask(seed: int, *shape: int) -> Tensor:
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.6
    mask[..., 0] = True
    return mask


def gradients(output: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    """Of a sum that weighs every output differently."""
    weights = torch.linspace(-1, 1, output.numel()).view_as(output)
    return torch.autograd.grad((output * weights).sum(), inputs)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), spread=st.floats(0.1, 30))
def test_the_output_lies_between_the_least_and_the_greatest_value(seed: int, spread: float) -> None:
    query, keys, values = scene(seed=seed)
    output, _ = attend(query * spread, keys * spread, values)
    low, high = (values.amin(-2, keepdim=True), values.amax(-2, keepdim=True))
    assert ((output >= low - 1e-5) & (output <= high + 1e-5)).all()


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_the_weights_of_a_query_are_not_negative_and_sum_to_one(seed: int) -> None:
    query, keys, values = scene(seed=seed)
    _, weights = attend(query, keys, values, mask=random_mask(seed, B, 1, T, S))
    assert (weights >= 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, H, T))


def test_queries_keys_and_values_may_have_three_widths() -> None:
    output, weights = attend(
        torch.randn(T, 3), torch.randn(S, 5), torch.randn(S, 7), score=Bilinear(3, 5)
    )
    assert output.shape == (T, 7) and weights.shape == (T, S)


def test_attention_is_a_softmax_and_a_weighted_sum_key_by_key() -> None:
    query, keys, values = (x.detach() for x in scene())
    output, weights = attend(query, keys, values, score=dot)
    for b, h, t in torch.cartesian_prod(*map(torch.arange, (B, H, T))).tolist():
        powers = [(query[b, h, t] @ keys[b, h, s]).exp() for s in range(S)]
        alphas = [power / sum(powers) for power in powers]
        torch.testing.assert_close(weights[b, h, t], torch.stack(alphas))
        summed = torch.stack([alphas[s] * values[b, h, s] for s in range(S)]).sum(0)
        torch.testing.assert_close(output[b, h, t], summed)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_a_masked_key_might_as_well_not_be_there(seed: int) -> None:
    query, keys, values = scene(seed=seed)
    mask = random_mask(seed, S)
    masked, _ = attend(query, keys, values, mask=mask.unsqueeze(0))
    without, _ = attend(query, keys[:, :, mask], values[:, :, mask])
    torch.testing.assert_close(masked, without)


def test_a_masked_key_has_no_weight_however_well_it_answers() -> None:
    query = torch.full((1, 2), 100.0)
    keys = torch.tensor([[100.0, 100.0], [-100.0, -100.0]])
    _, weights = attend(query, keys, keys, mask=torch.tensor([[False, True]]))
    assert weights.tolist() == [[0.0, 1.0]]


class Watched(Attend):
    """An `Attend` that somebody watches, and which therefore takes the formula."""

    def forward(self, *inputs: Any, **options: Any) -> Tensor:
        with watching({self: lambda weights: None}):
            return super().forward(*inputs, **options)


PATHS = {"fused": Attend, "explicit": Watched}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("shape", [(B, 1, T, S), (B, 1, 1, S)])
def test_a_query_that_may_attend_to_nothing_gets_zeros(path: str, shape: tuple[int, ...]) -> None:
    query, keys, values = scene()
    mask = torch.ones(shape, dtype=torch.bool)
    mask[0, 0, 0] = False
    output = PATHS[path]()(query, keys, values, mask)
    assert (output[0, :, 0] == 0).all()
    assert (output[1] != 0).all()


@pytest.mark.parametrize("path", PATHS)
def test_a_query_that_may_attend_to_nothing_passes_no_gradient_and_no_nan(path: str) -> None:
    query, keys, values = scene()
    mask = torch.ones(B, 1, T, S, dtype=torch.bool)
    mask[0, 0, 0] = False
    d_query, d_keys, d_values = gradients(
        PATHS[path]()(query, keys, values, mask), query, keys, values
    )
    assert d_query.isfinite().all() and d_keys.isfinite().all() and d_values.isfinite().all()
    assert (d_query[0, :, 0] == 0).all()
    assert (d_query[1] != 0).all()


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_the_fused_kernel_equals_the_formula(seed: int) -> None:
    query, keys, values = scene(seed=seed)
    mask = torch.rand(B, 1, T, S, generator=torch.Generator().manual_seed(seed)) < 0.5
    fast = Attend()(query, keys, values, mask)
    slow = Watched()(query, keys, values, mask)
    torch.testing.assert_close(fast, slow)
    torch.testing.assert_close(
        gradients(fast, query, keys, values), gradients(slow, query, keys, values)
    )


def test_the_fused_kernel_equals_the_formula_under_the_causal_mask() -> None:
    query, keys, values = scene(num_keys=T)
    fast = Attend()(query, keys, values, is_causal=True)
    slow = Watched()(query, keys, values, is_causal=True)
    torch.testing.assert_close(fast, slow)
    torch.testing.assert_close(
        gradients(fast, query, keys, values), gradients(slow, query, keys, values)
    )


@pytest.mark.parametrize("path", PATHS)
def test_the_causal_flag_equals_the_causal_mask(path: str) -> None:
    query, keys, values = scene(num_keys=T)
    module = PATHS[path]()
    torch.testing.assert_close(
        module(query, keys, values, is_causal=True), module(query, keys, values, causal_mask(T, T))
    )


@pytest.mark.parametrize("path", PATHS)
def test_the_causal_flag_is_refused_for_fewer_queries_than_keys(path: str) -> None:
    with pytest.raises(AssertionError):
        PATHS[path]()(*scene(), is_causal=True)


def test_a_watcher_is_handed_the_weights_that_made_the_output() -> None:
    query, keys, values = scene()
    seen: list[Tensor] = []
    module = Attend()
    with watching({module: seen.append}):
        output = module(query, keys, values)
    (weights,) = seen
    assert weights.shape == (B, H, T, S)
    torch.testing.assert_close(weights @ values, output)


def test_only_who_is_watched_is_seen_and_only_while_and_where_it_is() -> None:
    inputs = scene()
    seen: list[Tensor] = []
    module, other = Attend(), Attend()
    with watching({module: seen.append}):
        other(*inputs)
        with ThreadPoolExecutor(1) as elsewhere:
            elsewhere.submit(module, *inputs).result()
    module(*inputs)
    assert seen == []


def test_a_watcher_inside_another_takes_its_place_for_a_while() -> None:
    inputs = scene()
    outer: list[Tensor] = []
    inner: list[Tensor] = []
    module, other = Attend(), Attend()
    with watching({module: outer.append, other: outer.append}):
        with watching({module: inner.append}):
            module(*inputs)
            other(*inputs)
        module(*inputs)
    assert (len(outer), len(inner)) == (2, 1)


def test_the_weights_carry_their_gradient() -> None:
    query, keys, values = (each.requires_grad_() for each in scene())
    seen: list[Tensor] = []
    module = Attend()
    with watching({module: seen.append}):
        module(query, keys, values)
    seen[0].square().sum().backward()
    assert query.grad is not None and query.grad.abs().max() > 0


def test_any_score_runs_inside_the_module() -> None:
    query, keys, values = scene()
    expected, _ = attend(query, keys, values, score=dot)
    torch.testing.assert_close(Attend(dot)(query, keys, values), expected)


@pytest.mark.parametrize("path", PATHS)
def test_dropped_weights_leave_the_mean_as_it_was(path: str) -> None:
    query, keys, values = (x.detach()[:1] for x in scene())
    module = PATHS[path]()
    module.dropout = 0.3
    torch.manual_seed(0)
    many = module(*(x.expand(4000, -1, -1, -1) for x in (query, keys, values)))
    assert many.std(0).min() > 0.01
    expected, _ = attend(query, keys, values)
    torch.testing.assert_close(many.mean(0), expected[0], atol=0.06, rtol=0)


@pytest.mark.parametrize("path", PATHS)
def test_no_weight_is_dropped_in_evaluation(path: str) -> None:
    query, keys, values = scene()
    module = PATHS[path]().eval()
    module.dropout = 0.3
    torch.testing.assert_close(module(query, keys, values), attend(query, keys, values).output)


def test_the_last_query_stands_at_the_last_key() -> None:
    assert causal_mask(2, 4).int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]


@settings(deadline=None, max_examples=25)
@given(lengths=st.lists(st.integers(0, 6), min_size=1, max_size=5))
def test_the_padding_mask_counts_as_many_keys_as_a_sentence_has(lengths: list[int]) -> None:
    mask = padding_mask(torch.tensor(lengths), 6)
    assert mask.sum(1).tolist() == lengths
    assert (mask.int().diff(dim=1) <= 0).all()


def test_the_fused_kernel_is_the_one_of_torch() -> None:
    query, keys, values = scene()
    expected = F.scaled_dot_product_attention(query, keys, values)
    assert torch.equal(Attend()(query, keys, values), expected)
