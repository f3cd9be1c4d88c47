"""The fast path never stores the T × S weights: its memory grows with T, not with T²."""

import pytest
import torch

from regard.attention import Attend
from regard.machine import peak_memory
from regard.plain import plain
from regard.shapes import Tensor


def bytes_kept_for_the_way_back(length: int) -> int:
    """The size of all that self-attention over so many positions keeps, each storage once."""
    kept: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    query, key, value = torch.randn(3, 1, 2, length, 8, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        Attend()(query, key, value, is_causal=True)
    return sum(kept.values())


@pytest.mark.parametrize("length", [128, 256, 512])
def test_twice_the_length_keeps_twice_as_much(length: int) -> None:
    growth = bytes_kept_for_the_way_back(2 * length) / bytes_kept_for_the_way_back(length)
    assert growth == pytest.approx(2, rel=0.02)


def test_the_plain_formula_keeps_four_times_as_much() -> None:
    with plain():
        growth = bytes_kept_for_the_way_back(1024) / bytes_kept_for_the_way_back(512)
    assert growth == pytest.approx(4, rel=0.1)


def test_the_fast_path_never_holds_the_weights_of_a_long_sentence() -> None:
    """16,384² weights of one head would be a gigabyte, there and back."""
    query, key, value = (torch.randn(1, 1, 16_384, 8, requires_grad=True) for _ in range(3))
    before = peak_memory()
    Attend()(query, key, value, is_causal=True).sum().backward()
    assert peak_memory() - before < 2**27
