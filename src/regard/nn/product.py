"""A product with a matrix that stays: prepared once, for many calls."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import final

import torch
import torch.nn.functional as F
from torch import nn

from regard.native import kernels
from regard.native.floats import PackedFloats, can_pack_floats
from regard.native.integers import PackedIntegers, can_pack_integers
from regard.nn.int8 import Int8Linear, int8_product
from regard.shapes import Float, Int, Int8, Tensor

# Multiplications below which asking oneDNN costs more than it saves.
FEW_PRODUCTS = 2**19
# Rows that oneDNN is told to prepare for; the layout it then chooses serves one row as well.
TYPICAL_ROWS = 256


class Product(ABC):
    """y = x Wᵀ + b for rows x."""

    @abstractmethod
    def __call__(self, x: Float[Tensor, "R D"]) -> Float[Tensor, "R F"]:
        """The product of every row with the matrix."""

    @abstractmethod
    def prepare(self) -> None:
        """Make now whatever is made once."""

    @abstractmethod
    def outputs(self, chosen: Int[Tensor, "f"]) -> "Product":
        """The same for some of the outputs only."""


@final
class FloatProduct(Product):
    """Equals `F.linear`, from a matrix laid out as the processor reads it.

    Where the processor has AVX-512 a compiled kernel multiplies. Elsewhere many rows are
    multiplied by oneDNN with a matrix that it has packed itself; a single row by a kernel for
    that, or, where there is none and there are more outputs than inputs, with a transposed
    matrix, which is read from memory in long runs. Each layout is a copy, made at the first call
    that wants it. What is chosen depends on the sizes alone.
    """

    def __init__(self, weight: Float[Tensor, "F D"], bias: Float[Tensor, "F"] | None) -> None:
        self.weight = weight
        self.bias = bias
        self._packed: PackedFloats | None = None
        self._reordered: Tensor | None = None
        self._transposed: Tensor | None = None
        is_simple = weight.dtype == torch.float32 and weight.is_cpu
        self._can_reorder = is_simple and torch.backends.mkldnn.is_available()
        self.is_for_kernel = is_simple and weight.is_contiguous()

    def __call__(self, x: Float[Tensor, "R D"]) -> Float[Tensor, "R F"]:
        num_outputs, num_inputs = self.weight.shape
        num_rows = x.shape[0]
        if kernels.can_take(x) and (packed := self.packed()) is not None:
            return packed(x)
        if num_rows == 1 and self.is_for_kernel and kernels.can_take(x):
            return kernels.multiply_rows(x, self.weight, self.bias)
        if num_rows == 1 and num_outputs > num_inputs:
            if self._transposed is None:
                self._transposed = self.weight.t().contiguous()
            return F.linear(x, self._transposed.t(), self.bias)
        if not self._can_reorder or num_rows * num_outputs * num_inputs < FEW_PRODUCTS:
            return F.linear(x, self.weight, self.bias)
        if self._reordered is None:
            self._reorder()
        product: Tensor = torch.ops.mkldnn._linear_pointwise(
            x, self._reordered, self.bias, "none", [], ""
        )
        return product

    def packed(self) -> PackedFloats | None:
        """The matrix as the kernels want it, made if there is none; None without such kernels."""
        if self._packed is None and can_pack_floats(self.weight):
            self._packed = PackedFloats(self.weight, self.bias)
        return self._packed

    def prepare(self) -> None:
        if self.packed() is None and self._can_reorder:
            self._reorder()

    def outputs(self, chosen: Int[Tensor, "f"]) -> "FloatProduct":
        return FloatProduct(self.weight[chosen], None if self.bias is None else self.bias[chosen])

    def _reorder(self) -> None:
        self._reordered = torch.ops.mkldnn._reorder_linear_weight(self.weight, TYPICAL_ROWS)


@final
class Int8Product(Product):
    """`Int8Linear` without the module around it, by a compiled kernel where there is one."""

    def __init__(
        self,
        weight: Int8[Tensor, "F D"],
        scale: Float[Tensor, "F"],
        bias: Float[Tensor, "F"] | None,
    ) -> None:
        self.weight = weight
        self.scale = scale
        self.bias = bias
        self._packed: PackedIntegers | None = None

    def __call__(self, x: Float[Tensor, "R D"]) -> Float[Tensor, "R F"]:
        if kernels.can_take(x) and (packed := self.packed()) is not None:
            return packed(x)
        return int8_product(x, self.weight, self.scale, self.bias)

    def packed(self) -> PackedIntegers | None:
        """The matrix as the kernels want it, made if there is none; None without such kernels."""
        if self._packed is None and can_pack_integers(self.weight):
            self._packed = PackedIntegers(self.weight, self.scale, self.bias)
        return self._packed

    def prepare(self) -> None:
        self.packed()

    def outputs(self, chosen: Int[Tensor, "f"]) -> "Int8Product":
        bias = None if self.bias is None else self.bias[chosen]
        return Int8Product(self.weight[chosen], self.scale[chosen], bias)


def product_of(layers: Sequence[nn.Linear | Int8Linear]) -> Product:
    """One product for several layers that read the same rows, their outputs side by side.

    Args:
        layers: all nn.Linear, or all Int8Linear; all with a bias, or none.
    """
    bias = _joined([layer.bias for layer in layers])
    weight = _joined([layer.weight for layer in layers])
    assert weight is not None
    if isinstance(layers[0], nn.Linear):
        return FloatProduct(weight, bias)
    scale = _joined([layer.scale for layer in layers if isinstance(layer, Int8Linear)])
    assert scale is not None
    return Int8Product(weight, scale, bias)


def _joined(parts: Sequence[Tensor | None]) -> Tensor | None:
    there = [part.detach() for part in parts if part is not None]
    assert len(there) in (0, len(parts)), "all layers have a bias, or none"
    if not there:
        return None
    return there[0] if len(there) == 1 else torch.cat(there)
