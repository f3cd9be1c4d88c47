"""A matrix in bfloat16 as the compiled kernels read it: inputs in pairs (`pairs.c`)."""

from ctypes import byref

import torch

from regard.native import kernels
from regard.native.floats import PackedFloats
from regard.shapes import Tensor


class PackedPairs(PackedFloats):
    """The same with inputs and matrix rounded to bfloat16; sums are floats."""

    def _depth(self) -> int:
        return -(-self.shape[1] // 2)

    def _pack(self, weight: Tensor, is_turned: bool) -> None:
        if is_turned:
            kernels.call("pack_turned_pairs", weight, *self.shape, self._packed)
        else:
            space = weight.new_empty(self.shape[0] * self._depth())
            kernels.call("pack_pairs", weight, *self.shape, space, self._packed)

    def _multiply(self, x: Tensor, gate: Tensor | None, product: Tensor) -> None:
        space = x.new_empty(len(x) * self._depth())
        matrix, threads = byref(self.description), torch.get_num_threads()
        kernels.call("multiply_pairs", x, *x.shape, matrix, gate, threads, space, product)
