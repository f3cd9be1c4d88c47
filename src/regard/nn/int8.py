"""Linear layers in 8-bit integers: a quarter of the memory, four products in the time of one."""

from typing import NamedTuple

import torch
from torch import nn

from regard.native import kernels
from regard.nn.embedding import Embedding
from regard.plain import is_plain
from regard.shapes import Float, Int8, Tensor

LARGEST = 127
"""Of the integers used; −128 is left out, so that a number and its negative are alike."""

# A row of zeros has no largest element to be scaled by.
SMALLEST = 1e-30


class Quantised(NamedTuple):
    """Integers and what each row of them is to be multiplied by."""

    values: Int8[Tensor, "R D"]
    scale: Float[Tensor, "R 1"]


def quantise_rows(x: Float[Tensor, "R D"]) -> Quantised:
    """Each row as integers, the largest of which is 127.

        s_r = max_d |x_rd| / 127        q_rd = round(x_rd / s_r)

    A row knows no other row. So what a hypothesis becomes does not depend on the hypotheses and
    sentences beside it, as it does where one scale serves the whole tensor.
    """
    if kernels.can_take(x):
        return Quantised(*kernels.quantise_rows(x, LARGEST, SMALLEST))
    scale = x.abs().amax(-1, keepdim=True).mul_(1 / LARGEST).clamp_(min=SMALLEST)
    return Quantised((x / scale).round_().to(torch.int8), scale)


def int8_product(
    x: Float[Tensor, "R D"],
    weight: Int8[Tensor, "F D"],
    scale: Float[Tensor, "F"],
    bias: Float[Tensor, "F"] | None,
) -> Float[Tensor, "R F"]:
    """A product of rows with an integer matrix that has a scale for every output.

        y_rf = s_r · s_f · Σ_d q_rd w_fd + b_f

    The sum is one of integers, exact in any order.
    """
    values, row_scale = quantise_rows(x)
    if is_plain() or weight.shape[1] == 1:  # PyTorch's kernel misreads a matrix of one column
        sums = values.double() @ weight.double().t()
    else:
        sums = torch._int_mm(values, weight.t())
        if kernels.can_take(row_scale):
            return kernels.dequantise(sums, row_scale, scale, bias)
    product = sums.float().mul_(scale).mul_(row_scale)
    return product if bias is None else product.add_(bias)


class Int8Linear(nn.Module):
    """A linear layer with 8-bit weights, one scale for each output, and 8-bit activations.

        y = (Q_x Q_Wᵀ) ∘ s_x s_Wᵀ + b

    Bhandare et al. 2019, "Efficient 8-Bit Quantization of Transformer Neural Machine Language
    Translation Model". Differs: a scale for every row of activations, found when the row is
    there, instead of one for the layer from calibration; so no data is needed to quantise.
    """

    weight: Tensor
    scale: Tensor
    bias: Tensor | None

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        values, scale = quantise_rows(linear.weight.detach())
        self.register_buffer("weight", values)
        self.register_buffer("scale", scale.squeeze(1))
        self.register_buffer("bias", None if linear.bias is None else linear.bias.detach())

    def forward(self, x: Float[Tensor, "*B D"]) -> Float[Tensor, "*B F"]:
        flat = int8_product(x.flatten(0, -2), self.weight, self.scale, self.bias)
        return flat.view(*x.shape[:-1], -1)


def quantise_model(model: nn.Module) -> int:
    """Turn every linear layer of a model into its 8-bit form; return how many there were.

    An embedding is looked up, not multiplied, and stays in floats; but these become what its
    integers say, so that a model quantised in memory equals one read from an 8-bit file.
    """
    found = [
        (module, name, child)
        for module in model.modules()
        for name, child in module.named_children()
        if isinstance(child, nn.Linear)
    ]
    for module, name, child in found:
        setattr(module, name, Int8Linear(child))
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, Embedding):
                values, scale = quantise_rows(module.weight)
                module.weight.copy_(values * scale)
    return len(found)


SCALE = ".scale"
"""What the name of a matrix's scales ends in, after the name of the matrix."""


def quantised_tensors(model: nn.Module, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """A model's tensors for a file: matrices of linear layers and embeddings as integers."""
    matrices = {
        f"{name}.weight"
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear | Embedding)
    }
    stored: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if name in matrices:
            values, scale = quantise_rows(tensor)
            stored |= {name: values, name + SCALE: scale.squeeze(1)}
        else:
            stored[name] = tensor
    return stored


def dequantised_tensors(stored: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors that `quantised_tensors` stored, in floats; quantised again they are the same."""
    return {
        name: tensor * stored[name + SCALE].unsqueeze(1) if tensor.dtype == torch.int8 else tensor
        for name, tensor in stored.items()
        if not name.endswith(SCALE)
    }
