"""A matrix of 8-bit integers as the compiled kernels read it (`integers.c`)."""

from ctypes import Structure, byref, c_int64, c_void_p

import torch

from regard.native import kernels
from regard.shapes import Float, Int, Int8, Tensor

# Outputs that stand together in a packed matrix, and inputs of each.
PANEL = 16
QUAD = 4
# What the integers of a row need besides: their scale, and 128 times their sum.
EXTRA_BYTES = 8


def can_pack_integers(weight: Int8[Tensor, "F D"]) -> bool:
    """Whether there are kernels for a matrix of this width."""
    return kernels.has_integer_products() and weight.shape[1] % QUAD == 0 and weight.is_cpu


class IntegerDescription(Structure):
    """`IntegerMatrix` of kernels.h."""

    _fields_ = (
        *((name, c_void_p) for name in ("packed", "scale", "bias")),
        *((name, c_int64) for name in ("outputs", "inputs")),
    )


class PackedIntegers:
    """Integers packed for products, with a scale for every output.

    Attributes:
        shape: outputs and inputs.
        description: the same for a kernel.

    Args:
        weight: the integers.
        scale: of each output.
        bias: added to each output; None: nothing.
        chosen: the outputs to take, of all these; None: all.
    """

    def __init__(
        self,
        weight: Int8[Tensor, "F D"],
        scale: Float[Tensor, "F"],
        bias: Float[Tensor, "F"] | None,
        chosen: Int[Tensor, "f"] | None = None,
    ) -> None:
        assert weight.dtype == torch.int8 and len(scale) == len(weight)
        num_outputs, num_inputs = len(weight if chosen is None else chosen), weight.shape[1]
        self.shape = num_outputs, num_inputs
        num_panels = -(-num_outputs // PANEL)
        self._packed = torch.empty(num_panels * PANEL * num_inputs, dtype=torch.uint8)
        if chosen is not None:
            assert chosen.dtype == torch.int64 and chosen.is_contiguous()
            scale, bias = scale[chosen], None if bias is None else bias[chosen]
        rows = weight.contiguous(), chosen
        kernels.call("pack_integers", *rows, num_outputs, num_inputs, self._packed)
        self._scale = scale.float().contiguous()
        self._bias = None if bias is None else bias.float().contiguous()
        self.description = self._described(self.shape[0])

    def __call__(self, x: Float[Tensor, "R D"]) -> Float[Tensor, "R F"]:
        """The product x Wᵀ + b of `nn.int8.int8_product`, which turns rows into integers."""
        x = x.contiguous()
        assert x.dtype == torch.float32 and x.shape[1] == self.shape[1]
        product = x.new_empty(len(x), self.shape[0])
        space = _space(len(x), self.shape[1])
        threads = torch.get_num_threads()
        matrix = byref(self.description)
        kernels.call("multiply_integers", x, len(x), matrix, threads, space, product)
        return product

    def own(
        self, x: Float[Tensor, "R D"], places: Int[Tensor, "B"], counts: Int[Tensor, "A"]
    ) -> Float[Tensor, "R f"]:
        """The rows of each sentence times some of the outputs: those of its list.

        The outputs are A lists of equal length, in whole panels.

        Args:
            x: the rows of one sentence stand together.
            places: whose list each sentence uses.
            counts: how many outputs of a list count; the others are −∞.
        """
        x = x.contiguous()
        size, rest = divmod(self.shape[0], len(counts))
        assert rest == 0 and size % PANEL == 0 and x.shape[1] == self.shape[1]
        assert x.dtype == torch.float32 and places.dtype == counts.dtype == torch.int64
        product = x.new_empty(len(x), size)
        lanes = len(x) // len(places)
        space = _space(lanes, self.shape[1])
        matrices = self._described(size)
        lists = byref(matrices), places.contiguous(), counts.contiguous()
        kernels.call("multiply_own_integers", x, len(places), lanes, *lists, space, product)
        return product

    def _described(self, num_outputs: int) -> IntegerDescription:
        bias = None if self._bias is None else self._bias.data_ptr()
        addresses = self._packed.data_ptr(), self._scale.data_ptr(), bias
        return IntegerDescription(*addresses, num_outputs, self.shape[1])


def _space(rows: int, inputs: int) -> Tensor:
    """Where rows become integers."""
    return torch.empty(rows * (inputs + EXTRA_BYTES), dtype=torch.uint8)
