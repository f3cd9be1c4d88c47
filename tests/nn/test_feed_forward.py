"""The position-wise network and the residual connection around every sub-layer."""

import pytest
import torch
from torch import nn

from regard.nn.feed_forward import ACTIVATIONS, Activation, FeedForward
from regard.nn.residual import NormPlace, Residual
from regard.shapes import Tensor

D = 6


@pytest.fixture
def x() -> Tensor:
    return torch.randn(2, 3, D, generator=torch.Generator().manual_seed(0))


def test_the_papers_network_follows_equation_2(x: Tensor) -> None:
    network = FeedForward(D, 10)
    nn.init.normal_(network.inner.bias)
    nn.init.normal_(network.outer.bias)
    hidden = torch.clamp(x @ network.inner.weight.T + network.inner.bias, min=0)
    expected = hidden @ network.outer.weight.T + network.outer.bias
    torch.testing.assert_close(network(x), expected)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_an_activation_stands_between_the_layers(activation: Activation, x: Tensor) -> None:
    network = FeedForward(D, 10, activation)
    theirs = {"relu": nn.ReLU(), "gelu": nn.GELU(), "swish": nn.SiLU()}[activation]
    torch.testing.assert_close(network(x), network.outer(theirs(network.inner(x))))


def test_every_position_is_treated_the_same(x: Tensor) -> None:
    network = FeedForward(D, 10)
    torch.testing.assert_close(network(x)[:, 1:2], network(x[:, 1:2]))


def test_hidden_units_are_dropped_when_asked(x: Tensor) -> None:
    network = FeedForward(D, 10, dropout=0.5)
    assert not torch.equal(network(x), network(x))


@pytest.mark.parametrize("place", ["post", "pre"])
def test_the_norm_stands_where_the_papers_put_it(place: NormPlace, x: Tensor) -> None:
    residual = Residual(D, place)
    nn.init.normal_(residual.norm.weight)
    expected = residual.norm(x + x.sin()) if place == "post" else x + residual.norm(x).sin()
    torch.testing.assert_close(residual(x, torch.sin), expected)


@pytest.mark.parametrize("place", ["post", "pre"])
def test_without_its_input_a_residual_is_the_sublayer_and_the_norm(
    place: NormPlace, x: Tensor
) -> None:
    residual = Residual(D, place, adds_input=False)
    nn.init.normal_(residual.norm.weight)
    expected = residual.norm(x.sin()) if place == "post" else residual.norm(x).sin()
    torch.testing.assert_close(residual(x, torch.sin), expected)


class Unchanged(nn.Module):
    """A norm that does nothing."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return x


@pytest.mark.parametrize("place", ["post", "pre"])
def test_dropout_falls_on_the_sublayer_and_not_on_the_sum(place: NormPlace, x: Tensor) -> None:
    residual = Residual(D, place, dropout=0.5)
    residual.norm = Unchanged()  # type: ignore[assignment]
    added = residual(x, torch.ones_like) - x
    torch.testing.assert_close(added.round().unique(), torch.tensor([0.0, 2.0]))
