"""A workspace: matrices are packed once, and gradients add up to what autograd finds."""

from threading import Thread
from unittest.mock import patch

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from regard.native import kernels
from regard.native.linear import FEW_ROWS, Linear, linear, project
from regard.native.workspace import Packs, Workspace, pack, working_in, workspace_of
from regard.nn.embedding import Embedding
from regard.shapes import Tensor
from tests.native.samples import needs_floats, needs_kernels, numbers

VOCABULARY, WIDTH = 30, 16
TOKENS = torch.arange(2 * FEW_ROWS).view(2, FEW_ROWS) % VOCABULARY


class Layers(nn.Module):
    """An embedding that is the output too, and three layers that are one product."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.embedding = Embedding(VOCABULARY, WIDTH)
        self.first, self.second, self.third = (Linear(WIDTH, width) for width in (8, 24, 16))

    def forward(self, tokens: Tensor) -> Tensor:
        packed = project(self.embedding(tokens), self.first, self.second, self.third)
        first, second, third = packed.split([8, 24, 16], -1)
        states = third * torch.cat([first, second.unflatten(-1, (3, 8)).sum(-2)], -1)
        return linear(states, self.embedding.weight, None)


def summed(layers: Layers, *uses: Tensor, recomputes: bool = False) -> dict[str, Tensor]:
    """Gradients by way of a workspace, over several uses of the layers."""
    workspace = Workspace(Packs())
    with working_in(workspace):
        for tokens in uses:
            said = checkpoint(layers, tokens, use_reentrant=False) if recomputes else layers(tokens)
            left = torch.autograd.grad(
                said.square().sum(), list(layers.parameters()), allow_unused=True
            )
            assert all(each is None for each in left), "what is in the workspace is nowhere else"
    found = workspace.gradients()
    return {name: found[parameter] for name, parameter in layers.named_parameters()}


def expected(layers: Layers, *uses: Tensor) -> dict[str, Tensor]:
    layers.zero_grad()
    for tokens in uses:
        layers(tokens).square().sum().backward()
    return {name: p.grad for name, p in layers.named_parameters() if p.grad is not None}


@needs_floats
@pytest.mark.parametrize("recomputes", [False, True])
def test_sums_are_the_gradients_of_all_uses_together(recomputes: bool) -> None:
    layers, other = Layers(), TOKENS.flip(1)
    found = summed(layers, TOKENS, other, TOKENS, recomputes=recomputes)
    torch.testing.assert_close(found, expected(layers, TOKENS, other, TOKENS), atol=1e-3, rtol=1e-4)


@needs_floats
def test_several_layers_side_by_side_are_one_product() -> None:
    layers, x = Layers(), numbers(FEW_ROWS, WIDTH, seed=1)
    parts = [layers.first(x), layers.second(x), layers.third(x)]
    with patch.object(kernels, "call", wraps=kernels.call) as call:
        together = project(x, layers.first, layers.second, layers.third)
    assert torch.equal(together, torch.cat(parts, -1))
    assert [each.args[0] for each in call.mock_calls].count("multiply_floats") == 1


@needs_floats
def test_a_matrix_is_packed_once_for_all_threads_and_uses() -> None:
    layers, packs = Layers(), Packs()

    def learn() -> None:
        with working_in(Workspace(packs)):
            for _ in range(3):
                loss = layers(TOKENS).sum()
                torch.autograd.grad(loss, list(layers.parameters()), allow_unused=True)

    with patch.object(kernels, "call", wraps=kernels.call) as call:
        threads = [Thread(target=learn) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    called = [each.args[0] for each in call.mock_calls]
    assert called.count("pack_floats") == called.count("pack_turned_floats") == 2
    assert called.count("sum_outer_products") == 2 * 3 * 3


@needs_floats
def test_a_packed_matrix_is_another_with_a_bias_and_turned() -> None:
    weight, bias = numbers(16, 16, seed=1), numbers(16, seed=2)
    x = numbers(4, 16, seed=3)
    with working_in(Workspace(Packs())):
        assert pack([weight]) is pack([weight])
        found = [pack([weight])(x), pack([weight], [bias])(x), pack([weight], is_turned=True)(x)]
    expected = [x @ weight.T, x @ weight.T + bias, x @ weight]
    for ours, its in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, its, atol=1e-4, rtol=1e-5)


@needs_kernels
def test_what_is_no_parameter_keeps_its_gradient() -> None:
    layer = nn.Parameter(numbers(24, WIDTH, seed=1))
    x = numbers(FEW_ROWS, WIDTH, seed=2)
    workspace = Workspace(Packs())
    with working_in(workspace):
        made = 2 * layer
        assert workspace_of(layer) is workspace and workspace_of(made) is None
        linear(x, made, None).sum().backward()
    assert layer.grad is not None and not workspace.gradients()
    torch.testing.assert_close(layer.grad, 2 * x.sum(0).expand_as(layer), atol=1e-4, rtol=1e-5)


@needs_kernels
def test_a_way_back_without_a_desk_is_the_usual_one() -> None:
    layers = Layers()
    with working_in(Workspace(Packs())):
        loss = layers(TOKENS).square().sum()
    loss.backward()
    found = {name: p.grad for name, p in layers.named_parameters()}
    torch.testing.assert_close(found, expected(Layers(), TOKENS), atol=1e-3, rtol=1e-4)
