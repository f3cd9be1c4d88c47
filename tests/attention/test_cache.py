"""Keys and values that decoding keeps."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.attention import KeyValue, KeyValueCache
from regard.shapes import Tensor

H, K = 2, 3


def new(rows: int, seed: int) -> KeyValue:
    generator = torch.Generator().manual_seed(seed)
    return KeyValue(
        torch.randn(rows, H, 1, K, generator=generator),
        torch.randn(rows, H, 1, K, generator=generator),
    )


def test_what_was_appended_comes_back_in_order() -> None:
    cache = KeyValueCache(max_length=4)
    steps = [new(2, seed) for seed in range(4)]
    for number, step in enumerate(steps, start=1):
        key, value = cache.append(step)
        assert torch.equal(key, torch.cat([s.key for s in steps[:number]], dim=2))
        assert torch.equal(value, torch.cat([s.value for s in steps[:number]], dim=2))


def test_a_step_beyond_the_last_is_refused() -> None:
    cache = KeyValueCache(max_length=1)
    cache.append(new(2, seed=0))
    with pytest.raises(AssertionError, match="step 2 of at most 1"):
        cache.append(new(2, seed=1))


@settings(deadline=None, max_examples=25)
@given(moves=st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=4), max_size=5))
def test_rows_continue_the_rows_they_are_told_to(moves: list[list[int]]) -> None:
    cache = KeyValueCache(max_length=10)
    first = new(3, seed=0)
    cache.append(first)
    keys: list[Tensor] = list(first.key)
    values: list[Tensor] = list(first.value)
    for seed, numbers in enumerate(moves, start=1):
        rows = [number % len(keys) for number in numbers]
        cache.reorder(torch.tensor(rows))
        step = new(len(rows), seed)
        key, value = cache.append(step)
        keys = [torch.cat([keys[r], step.key[i]], dim=1) for i, r in enumerate(rows)]
        values = [torch.cat([values[r], step.value[i]], dim=1) for i, r in enumerate(rows)]
        assert cache.num_rows == len(rows)
        assert torch.equal(key, torch.stack(keys))
        assert torch.equal(value, torch.stack(values))
