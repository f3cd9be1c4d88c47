"""Keys and values that decoding keeps, so that no step computes them twice."""

from typing import NamedTuple

import torch

from regard.shapes import Float, Int, Tensor


class KeyValue(NamedTuple):
    """Projected keys and values, one set a head."""

    key: Float[Tensor, "B H S K"]
    value: Float[Tensor, "B H S Kv"]

    def select(self, sentences: Int[Tensor, "b"]) -> "KeyValue":
        """Keep these sentences, in this order."""
        return KeyValue(self.key[sentences], self.value[sentences])


class KeyValueCache:
    """Self-attention's memory of its own past, in tensors allocated once.

    Row r holds the keys and values of hypothesis r; `reorder` lets hypotheses be copied,
    moved and dropped between steps.

    Args:
        max_length: the number of steps there will be at most.
    """

    def __init__(self, max_length: int) -> None:
        self.max_length = max_length
        self.length = 0
        self._key: Tensor | None = None
        self._value: Tensor | None = None

    @property
    def num_rows(self) -> int:
        """How many hypotheses there are."""
        return 0 if self._key is None else len(self._key)

    def append(self, new: KeyValue) -> KeyValue:
        """Store the keys and values of one more step; return all there are."""
        if self._key is None or self._value is None:
            self._key = self._allocate(new.key)
            self._value = self._allocate(new.value)
        end = self.length + new.key.shape[2]
        assert end <= self.max_length, f"step {end} of at most {self.max_length}"
        self._key[:, :, self.length : end] = new.key
        self._value[:, :, self.length : end] = new.value
        self.length = end
        return KeyValue(self._key[:, :, :end], self._value[:, :, :end])

    def reorder(self, rows: Int[Tensor, "R"]) -> None:
        """Row i becomes what row `rows[i]` was; the number of rows may change."""
        assert self._key is not None and self._value is not None, "nothing appended yet"
        self._key = self._move(self._key, rows)
        self._value = self._move(self._value, rows)

    def _allocate(self, like: Tensor) -> Tensor:
        rows, heads, _, width = like.shape
        return like.new_empty(rows, heads, self.max_length, width)

    def _move(self, old: Tensor, rows: Tensor) -> Tensor:
        """Copy the filled part only: what lies beyond `length` was never written."""
        new = old.new_empty(len(rows), *old.shape[1:])
        torch.index_select(old[:, :, : self.length], 0, rows, out=new[:, :, : self.length])
        return new
