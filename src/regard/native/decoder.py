"""A step of a Transformer's decoder as one call (`decoder.c`)."""

from collections.abc import Sequence
from ctypes import POINTER, Structure, addressof, byref, c_double, c_int64, c_void_p, pointer
from typing import Any, NamedTuple

import torch

from regard.native import kernels
from regard.native.floats import FloatDescription, PackedFloats
from regard.native.integers import EXTRA_BYTES, IntegerDescription, PackedIntegers
from regard.shapes import Float, Int, Tensor

FLOAT_BYTES = 4


class Matrix(NamedTuple):
    """A product x Wᵀ + b of floats, as they are."""

    weight: Float[Tensor, "F D"]
    bias: Float[Tensor, "F"] | None

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs and inputs."""
        return self.weight.shape[0], self.weight.shape[1]


class Norm(NamedTuple):
    """A layer norm."""

    weight: Float[Tensor, "D"]
    bias: Float[Tensor, "D"]
    epsilon: float


AnyMatrix = Matrix | PackedFloats | PackedIntegers


class Layer(NamedTuple):
    """A layer's matrices, and the norms of its three parts.

    Attributes:
        project: queries, keys and values of self-attention side by side.
        output: what self-attention found.
        query: of the attention to the memory.
        memory_output: what it found.
        inner: of the feed-forward network, whose activation is ReLU.
        outer: likewise.
        norms: of self-attention, of attention to the memory, of the feed-forward network.
    """

    project: AnyMatrix
    output: AnyMatrix
    query: AnyMatrix
    memory_output: AnyMatrix
    inner: AnyMatrix
    outer: AnyMatrix
    norms: tuple[Norm, Norm, Norm]


class _Product(Structure):
    _fields_ = (
        *(("outputs", c_int64), ("inputs", c_int64)),
        *(("integers", POINTER(IntegerDescription)), ("floats", POINTER(FloatDescription))),
        *(("weight", c_void_p), ("bias", c_void_p)),
    )


class _Norm(Structure):
    _fields_ = (("weight", c_void_p), ("bias", c_void_p), ("epsilon", c_double))


class _Block(Structure):
    _fields_ = (
        *((name, _Product) for name in Layer._fields[:-1]),
        ("norms", _Norm * 3),
    )


class _Step(Structure):
    _fields_ = (
        *((name, c_int64) for name in ("sentences", "lanes", "stored", "num_slots", "room")),
        *((name, c_int64) for name in ("num_seen", "num_source", "threads")),
        *((name, c_void_p) for name in ("past", "blocks", "places", "keys", "values", "lengths")),
    )


class Decoder:
    """The layers of a decoder, to be stepped through together.

    Attributes:
        is_packed: whether their matrices are, which makes it fast for any number of rows.

    Args:
        layers: their weights; all of the same shapes.
        heads: how many there are.
        is_pre: norms come before their parts, instead of after the sums.
    """

    def __init__(self, layers: Sequence[Layer], heads: int, *, is_pre: bool) -> None:
        self._layers = layers  # whose addresses the blocks have
        self._blocks = (_Block * len(layers))(*map(_block, layers))
        self._heads = heads
        self._is_pre = is_pre
        self.is_packed = not any(isinstance(matrix, Matrix) for matrix in layers[0][:-1])
        (shape,) = {layer.inner.shape for layer in layers}
        inner, d_model = shape
        widest = max(shape)
        self._row = 6 * d_model + inner
        self._row_of_integers = -(-(widest + EXTRA_BYTES) // FLOAT_BYTES)

    def step(
        self,
        x: Float[Tensor, "R D"],
        past: Sequence[Float[Tensor, "2 A H C K"]],
        num_slots: int,
        places: Int[Tensor, "R t"] | None,
        memory: Sequence[tuple[Float[Tensor, "A H S K"], Float[Tensor, "A H S K"]]],
        lengths: Int[Tensor, "B"] | None,
        blocks: Int[Tensor, "B"] | None,
    ) -> None:
        """Turn embedded tokens into what the last layer leaves, before a norm behind it.

        Args:
            x: one row a hypothesis; changed in place.
            past: each layer's keys and values, with room for those of this step.
            num_slots: how many there are, those of this step among them.
            places: the slots that each row sees; None: all.
            memory: each layer's keys and values of the sources.
            lengths: of the sources, without padding; None where there is none.
            blocks: which of the stored sentences each sentence is; None: they are in order.
        """
        assert all(
            each.is_contiguous() and each.dtype == torch.float32
            for each in (x, *past, *(part for pair in memory for part in pair))
        )
        if places is not None:
            assert places.dtype == torch.int32 and places.is_contiguous()
        for numbers in (lengths, blocks):
            assert numbers is None or (numbers.dtype == torch.int64 and numbers.is_contiguous())
        _, stored, _, room, _ = past[0].shape
        sentences = stored if blocks is None else len(blocks)
        num_source = memory[0][0].shape[2]
        num_seen = num_slots if places is None else places.shape[1]
        assert num_slots <= room and len(x) % sentences == 0
        slots, keys, values = (_addresses(each) for each in (past, *zip(*memory, strict=True)))
        step = _Step(
            *(sentences, len(x) // sentences, stored, num_slots, room, num_seen, num_source),
            torch.get_num_threads(),
            *(addressof(slots), _address(blocks), _address(places)),
            *(addressof(keys), addressof(values), _address(lengths)),
        )
        longest = max(num_seen, num_source) + kernels.SIXTEEN
        space = x.new_empty(len(x) * (self._row + self._row_of_integers) + longest)
        layers = self._blocks, len(self._blocks), self._is_pre, self._heads, longest
        kernels.call("step_rows", *layers, byref(step), x, space)


def _block(layer: Layer) -> _Block:
    *matrices, norms = layer
    products = [_product(matrix) for matrix in matrices]
    assert all(
        each.is_contiguous() and each.dtype == torch.float32 for norm in norms for each in norm[:2]
    )
    of_norms = [_Norm(_address(norm.weight), _address(norm.bias), norm.epsilon) for norm in norms]
    return _Block(*products, (_Norm * 3)(*of_norms))


def _product(matrix: AnyMatrix) -> _Product:
    match matrix:
        case PackedIntegers():
            return _Product(*matrix.shape, pointer(matrix.description), None, None, None)
        case PackedFloats():
            return _Product(*matrix.shape, None, pointer(matrix.description), None, None)
    weight, bias = matrix
    assert weight.is_contiguous() and weight.dtype == torch.float32
    assert bias is None or (bias.is_contiguous() and bias.dtype == torch.float32)
    return _Product(*matrix.shape, None, None, _address(weight), _address(bias))


def _address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def _addresses(tensors: Sequence[Tensor]) -> Any:
    return (c_void_p * len(tensors))(*[tensor.data_ptr() for tensor in tensors])
