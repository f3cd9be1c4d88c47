"""The compiled kernels of attention equal the lines of PyTorch beside them."""

from unittest.mock import patch

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.attention import MultiHead, Sight, attend, attend_rows
from regard.attention.few import can_attend_to_few
from regard.native import kernels
from regard.plain import plain
from regard.shapes import Tensor
from tests.native.samples import both, needs_kernels, numbers, seeds

pytestmark = needs_kernels


@given(
    batch=st.integers(1, 4),
    lanes=st.integers(1, 4),
    heads=st.integers(1, 3),
    width=st.sampled_from([1, 5, 16, 20, 32, 64, 70]),
    num_places=st.integers(1, 40),
    room=st.integers(0, 9),
    sees=st.sampled_from(["all", "first", "own"]),
    has_left=st.booleans(),
    seed=seeds,
)
def test_attention_of_rows(
    batch: int,
    lanes: int,
    heads: int,
    width: int,
    num_places: int,
    room: int,
    sees: str,
    has_left: bool,
    seed: int,
) -> None:
    dice = torch.Generator().manual_seed(seed)
    blocks = torch.randperm(batch + 2, generator=dice)[:batch] if has_left else None
    num_stored = batch + 2 if has_left else batch
    # Columns of a wider matrix, and places with room behind them, as decoding has them.
    query = numbers(batch * lanes, 3 * heads * width, seed=seed)[:, : heads * width] * 3
    stored = numbers(2, num_stored, heads, num_places + room, width, seed=seed + 1)
    keys, values = stored[:, :, :, :num_places]
    order = torch.rand(batch * lanes, num_places, generator=dice).argsort(1)
    own = order[:, : (num_places + 1) // 2].int().contiguous()
    lengths = torch.randint(1, num_places + 1, (batch,), generator=dice)
    sight = {
        "all": Sight(num_places, blocks=blocks),
        "first": Sight(num_places, lengths=lengths, blocks=blocks),
        "own": Sight(num_places, places=own, blocks=blocks),
    }[sees]
    compiled, formula = both(lambda: attend_rows(query, keys, values, sight))
    torch.testing.assert_close(compiled, formula, atol=1e-5, rtol=1e-4)


@given(
    batch=st.integers(1, 3),
    heads=st.integers(1, 3),
    width=st.sampled_from([16, 32, 48]),
    lengths=st.tuples(st.integers(1, 140), st.integers(1, 64)),
    sees=st.sampled_from(["all", "mask", "causal", "memory"]),
    seed=seeds,
)
def test_attention_to_few_keys_and_its_gradients(
    batch: int, heads: int, width: int, lengths: tuple[int, int], sees: str, seed: int
) -> None:
    num_queries, num_keys = lengths
    if sees in ("all", "causal"):  # among themselves
        num_queries = min(num_queries, 64)
    torch.manual_seed(seed)
    module = MultiHead(heads * width, heads)
    memory = torch.randn(batch, num_keys, heads * width, requires_grad=True)
    states = torch.randn(batch, num_queries, heads * width, requires_grad=True)
    inputs = [states, *([memory] if sees in ("memory", "mask") else [])]
    mask = torch.rand(batch, 1, 1, num_keys) < 0.7 if sees == "mask" else None
    if mask is not None:
        mask[..., 0] = True
    weight = torch.randn(batch, num_queries, heads * width)

    def output_and_gradients() -> list[Tensor]:
        output = module(*inputs, mask=mask, is_causal=sees == "causal")
        wanted = [*inputs, *module.parameters()]
        return [output, *torch.autograd.grad((output * weight).sum(), wanted)]

    with patch.object(kernels, "call", wraps=kernels.call) as call:
        compiled = output_and_gradients()
    called = [name for each in call.mock_calls if (name := each.args[0]).startswith("attend")]
    assert called == ["attend_few", "attend_few_backward"]
    with plain():
        formula = output_and_gradients()
    for one, other in zip(compiled, formula, strict=True):
        torch.testing.assert_close(one, other, atol=2e-4, rtol=1e-4)


@pytest.mark.parametrize("width", [16, 32, 48, 64, 128])
@pytest.mark.parametrize("lengths", [(1, 16, 17), (65, 2, 33), (256, 255, 5)])
def test_sentences_behind_one_another_attend_each_to_itself(
    lengths: tuple[int, ...], width: int
) -> None:
    heads = 2
    packed = numbers(sum(lengths), 3 * heads * width, seed=width) * 2
    begins = torch.tensor([0, *lengths]).cumsum(0)
    found = kernels.attend_sentences(packed, begins, max(lengths), heads)
    for one, other in zip(packed.split(lengths), found.split(lengths), strict=True):
        query, keys, values = one.view(len(one), 3, heads, width).permute(1, 2, 0, 3)
        formula = attend(query, keys, values).output.transpose(0, 1).reshape(other.shape)
        torch.testing.assert_close(other, formula, atol=1e-4, rtol=1e-3)


def test_a_query_that_sees_nothing_gets_nothing() -> None:
    mask = torch.zeros(1, 5, dtype=torch.bool)
    x = numbers(1, 5, 16, seed=0)
    output, weights = kernels.attend_few(x, x, x, 1, mask, is_causal=False)
    assert not output.any() and not weights.any()


@pytest.mark.parametrize(
    ("num_keys", "width"), [(kernels.MOST_KEYS + 1, 16), (9, 17), (9, kernels.MOST_WIDTH + 16)]
)
def test_what_is_too_large_is_left_to_pytorch(num_keys: int, width: int) -> None:
    packed = numbers(1, num_keys, 3 * width, seed=0)
    assert not can_attend_to_few(packed, None, width, None)
    assert can_attend_to_few(numbers(1, 9, 48, seed=0), None, 16, None)


def test_few_causal_keys_are_as_many_as_queries() -> None:
    query, keys = numbers(1, 9, 16, seed=0), numbers(1, 2, 16, seed=1)
    with pytest.raises(AssertionError):
        kernels.attend_few(query, keys, keys, 1, None, is_causal=True)
