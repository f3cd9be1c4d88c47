"""Convolutions over time: equal to torch's, causal where they say so, and one step at a time."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from regard.nn.convolution import Past, windows
from regard.nn.weight_norm import WeightNorm
from regard.shapes import Tensor

D_IN, D_OUT, LENGTH = 3, 5, 11
SHAPES = [(1, 1), (3, 1), (3, 2), (5, 1), (3, 4)]


def linear(kernel: int) -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(kernel * D_IN, D_OUT)


@pytest.fixture
def x() -> Tensor:
    return torch.randn(2, LENGTH, D_IN, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(("kernel", "dilation"), SHAPES)
@pytest.mark.parametrize("is_causal", [False, True])
def test_a_map_of_windows_is_torch_s_convolution(
    kernel: int, dilation: int, is_causal: bool, x: Tensor
) -> None:
    ours = linear(kernel)
    weight = ours.weight.view(D_OUT, kernel, D_IN).transpose(1, 2)
    reach = (kernel - 1) * dilation
    padded = F.pad(x.transpose(1, 2), (reach, 0) if is_causal else (reach // 2, reach // 2))
    theirs = F.conv1d(padded, weight, ours.bias, dilation=dilation).transpose(1, 2)
    torch.testing.assert_close(ours(windows(x, kernel, dilation, is_causal=is_causal)), theirs)


@pytest.mark.parametrize(("kernel", "dilation"), SHAPES)
def test_steps_see_what_the_whole_sees(kernel: int, dilation: int, x: Tensor) -> None:
    past = Past(x, len(x), D_IN, kernel, dilation)
    stepped = torch.stack([past.window(x[:, t]) for t in range(LENGTH)], 1)
    assert torch.equal(stepped, windows(x, kernel, dilation, is_causal=True))


def test_rows_take_their_past_with_them(x: Tensor) -> None:
    past = Past(x, len(x), D_IN, kernel=3, dilation=2)
    for t in range(4):
        past.window(x[:, t])
    rows = torch.tensor([1, 1, 0])
    past.reorder(rows)
    assert past.num_rows == 3
    assert torch.equal(past.window(x[rows, 4]), windows(x, 3, 2, is_causal=True)[rows, 4])


@pytest.mark.parametrize(("kernel", "dilation"), SHAPES)
@pytest.mark.parametrize("is_causal", [False, True])
def test_an_output_sees_the_inputs_under_its_kernel_and_no_others(
    kernel: int, dilation: int, is_causal: bool, x: Tensor
) -> None:
    x.requires_grad_()
    place = LENGTH - 4
    linear(kernel)(windows(x, kernel, dilation, is_causal=is_causal))[0, place].sum().backward()
    assert x.grad is not None
    first = place - (kernel - 1) * dilation // (1 if is_causal else 2)
    expected = [first + i * dilation for i in range(kernel)]
    seen = x.grad[0].abs().sum(-1).nonzero().flatten().tolist()
    assert seen == [i for i in expected if 0 <= i < LENGTH]


def test_weight_norm_is_torch_s(x: Tensor) -> None:
    torch.manual_seed(0)
    ours = WeightNorm(D_IN, D_OUT, std=0.5)
    nn.init.normal_(ours.gain)
    nn.init.normal_(ours.bias)
    theirs = nn.utils.parametrizations.weight_norm(nn.Linear(D_IN, D_OUT))
    theirs.load_state_dict(
        {
            "bias": ours.bias,
            "parametrizations.weight.original0": ours.gain,
            "parametrizations.weight.original1": ours.direction,
        }
    )
    torch.testing.assert_close(ours(x), theirs(x))


def test_weight_norm_starts_as_the_matrix_that_was_drawn() -> None:
    layer = WeightNorm(400, 50, std=0.5)
    torch.testing.assert_close(layer.weight(), layer.direction)
    assert float(layer.direction.detach().std()) == pytest.approx(0.5, rel=0.05)


def test_the_length_of_a_weight_vector_is_its_gain() -> None:
    layer = WeightNorm(D_IN, D_OUT, std=1.0)
    nn.init.uniform_(layer.gain, 1.0, 2.0)
    torch.testing.assert_close(layer.weight().norm(dim=1, keepdim=True), layer.gain)
