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
    """

    def __init__(self, weight: Float[Tensor, "F D"], bias: Float[Tensor, "F"] | None) -> None:
        num_outputs, num_inputs = weight.shape
        self.shape = num_outputs, num_inputs
        num_panels = -(-num_outputs // kernels.SIXTEEN)
        self._packed = torch.empty(num_panels * kernels.SIXTEEN * num_inputs)
        kernels.call("pack_floats", weight.contiguous(), *self.shape, self._packed)
        self._bias = None if bias is None else bias.float().contiguous()
        address = None if self._bias is None else self._bias.data_ptr()
        self.description = FloatDescription(self._packed.data_ptr(), address, *self.shape)

    def __call__(self, x: Float[Tensor, "R D"]) -> Float[Tensor, "R F"]:
        """The product x Wᵀ + b; a row's does not depend on the others, to the last bit."""
        x = x.contiguous()
        num_outputs, num_inputs = self.shape
        assert x.dtype == torch.float32 and x.shape[1] == num_inputs
        product = x.new_empty(len(x), num_outputs)
        matrix, threads = byref(self.description), torch.get_num_threads()
        kernels.call("multiply_floats", x, len(x), matrix, threads, product)
        return product
