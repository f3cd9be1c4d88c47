"""The order of the model's channels: sinusoids interleaved, or sines first and cosines after.

The paper writes PE(pos, 2i) = sin, PE(pos, 2i+1) = cos. The authors' program and Marian put all
sines into the first half of the channels and all cosines into the second. Nothing else in a
Transformer prefers one channel to another, so permuting the channels of every matrix that
reads or writes them turns a model of one kind into the other, with the same outputs.
"""

import re

import torch

from regard.shapes import Int, Tensor

# Which dimension of a parameter runs over the channels; None where none does. Heads and the
# hidden units of the feed-forward network are spaces of their own.
_CHANNELS: dict[str, int | None] = {
    r"(source|target)\.embedding\.weight": 1,
    r"output\.weight": 1,
    r"output\.bias": None,
    r".+_attention\.(query|key|value)\.weight": 1,
    r".+_attention\.(query|key|value)\.bias": None,
    r".+_attention\.output\.(weight|bias)": 0,
    r".+\.feed_forward\.inner\.weight": 1,
    r".+\.feed_forward\.inner\.bias": None,
    r".+\.feed_forward\.outer\.(weight|bias)": 0,
    r".+\.norm\.(weight|bias)": 0,
}


def to_halves(tensors: dict[str, Tensor], d_model: int) -> dict[str, Tensor]:
    """The same model with its channels in the order even, then odd."""
    return _permuted(tensors, _even_then_odd(d_model))


def to_interleaved(tensors: dict[str, Tensor], d_model: int) -> dict[str, Tensor]:
    """The inverse of `to_halves`."""
    return _permuted(tensors, _even_then_odd(d_model).argsort())


def _even_then_odd(d_model: int) -> Int[Tensor, "D"]:
    return torch.cat([torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)])


def _permuted(tensors: dict[str, Tensor], order: Int[Tensor, "D"]) -> dict[str, Tensor]:
    permuted = {}
    for name, tensor in tensors.items():
        dimension = next(d for pattern, d in _CHANNELS.items() if re.fullmatch(pattern, name))
        permuted[name] = tensor if dimension is None else tensor.index_select(dimension, order)
    return permuted
