"""A matrix of floats as the compiled kernels read it (`floats.c`)."""

from ctypes import Structure, byref, c_int64, c_void_p

import torch

from regard.native import kernels
from regard.shapes import Float, Tensor


def can_pack_floats(weight: Float[Tensor, "F D"]) -> bool:
    """Whether there are kernels for this matrix."""
    return weight.dtype == torch.float32 and weight.is_cpu and kernels.has_float_products()


class FloatDescription(Structure):
    """`FloatMatrix` of kernels.h."""

    _fields_ = (
        *((name, c_void_p) for name in ("packed", "bias")),
        *((name, c_int64) for name in ("outputs", "inputs")),
    )


class PackedFloats:
    """Floats packed for products.

    Attributes:
        shape: outputs and inputs.
        description: the same for a kernel.

    Args:
        weight: the matrix.
        bias: added to each output; None: nothing.
        is_turned: products are with W itself and not with its transpose, as those of gradients.
    """

    def __init__(
        self,
        weight: Float[Tensor, "F D"],
        bias: Float[Tensor, "F"] | None = None,
        *,
        is_turned: bool = False,
    ) -> None:
        self.shape = weight.shape[::-1] if is_turned else weight.shape
        num_outputs, depth = self.shape[0], self._depth()
        assert weight.dtype == torch.float32 and (bias is None or bias.shape == (num_outputs,))
        self._packed = weight.new_empty(kernels.rounded(num_outputs) * depth)
        self._pack(weight.contiguous(), is_turned)
        self._bias = None if bias is None else bias.float().contiguous()
        address = None if self._bias is None else self._bias.data_ptr()
        self.description = FloatDescription(self._packed.data_ptr(), address, num_outputs, depth)

    def __call__(
        self,
        x: Float[Tensor, "R D"],
        out: Float[Tensor, "R F"] | None = None,
        gate: Float[Tensor, "R F"] | None = None,
    ) -> Float[Tensor, "R F"]:
        """The product x Wᵀ + b; a row's does not depend on the others, to the last bit.

        Args:
            x: rows of inputs.
            out: where to put it; somewhere new unless given.
            gate: where this is 0 or less, the product is replaced by 0; `out` itself for ReLU.
        """
        x = x.contiguous()
        num_outputs, num_inputs = self.shape
        product = x.new_empty(len(x), num_outputs) if out is None else out
        assert x.dtype == torch.float32 and x.shape[1] == num_inputs
        assert product.dtype == torch.float32 and product.is_contiguous()
        assert product.shape == (len(x), num_outputs)
        assert gate is None or (gate.shape == product.shape and gate.is_contiguous())
        self._multiply(x, gate, product)
        return product

    def _depth(self) -> int:
        """How many numbers of four bytes an output's inputs take."""
        return self.shape[1]

    def _pack(self, weight: Tensor, is_turned: bool) -> None:
        pack = "pack_turned_floats" if is_turned else "pack_floats"
        kernels.call(pack, weight, *self.shape, self._packed)

    def _multiply(self, x: Tensor, gate: Tensor | None, product: Tensor) -> None:
        matrix, threads = byref(self.description), torch.get_num_threads()
        kernels.call("multiply_floats", x, len(x), matrix, gate, threads, product)
