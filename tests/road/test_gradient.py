"""The norm of a gradient at a distance, where it is known."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from regard.models.bytenet import ByteNet
from regard.models.convs2s import ConvS2S
from regard.models.interface import Seq2Seq
from regard.models.seq2seq import EncoderDecoder
from regard.models.transformer import Transformer
from regard.nn.recurrence import Recurrence
from regard.road.experiments.gradient import gradient_norms
from regard.shapes import Float, Tensor
from tests.models.architectures import BYTENET, CONVS2S, RNN, TINY, VOCABULARY

LENGTH = 16
SOURCE = torch.randint(4, VOCABULARY, (2, LENGTH), generator=torch.Generator().manual_seed(3))


def norms_of_all_dimensions(model: Seq2Seq[Any]) -> Float[Tensor, "S"]:
    width = model.encode(SOURCE, torch.ones_like(SOURCE, dtype=torch.bool)).states.shape[-1]
    return gradient_norms(model, SOURCE, width)


@pytest.fixture(autouse=True)
def weights() -> None:
    torch.manual_seed(5)


def test_with_a_probe_for_each_dimension_it_is_the_norm_of_the_jacobian() -> None:
    model = EncoderDecoder(replace(RNN, reverse_source=False), VOCABULARY, VOCABULARY)
    model.eval()

    def last_state(embedded: Tensor) -> Tensor:
        mask = torch.ones(1, LENGTH, dtype=torch.bool)
        states, _ = model.encoder(embedded.unsqueeze(0), mask=mask)
        last: Tensor = states[0, -1]
        return last

    expected = torch.zeros(LENGTH)
    for sequence in SOURCE:
        jacobian = torch.autograd.functional.jacobian(
            last_state, model.source.embedding(sequence).detach()
        )
        assert isinstance(jacobian, Tensor)  # D S D
        expected += jacobian.square().sum((0, 2)).sqrt().flip(0) / len(SOURCE)
    torch.testing.assert_close(norms_of_all_dimensions(model), expected)


def test_a_recurrent_gradient_is_a_power_of_its_matrix() -> None:
    model = EncoderDecoder(replace(RNN, cell="rnn", layers=1), VOCABULARY, VOCABULARY)
    (layer,) = model.encoder.layers
    assert isinstance(layer, Recurrence)
    cell = layer.cell
    with torch.no_grad():
        # At h = 0 the slope of tanh is 1.
        model.source.embedding.weight.zero_()
        cell.input.bias.zero_()
        cell.hidden.bias.zero_()
        cell.hidden.weight.copy_(0.5 * torch.eye(RNN.d_model))
    found = norms_of_all_dimensions(model)
    torch.testing.assert_close(found / found[0], 0.5 ** torch.arange(LENGTH))


@pytest.mark.parametrize(
    ("model", "reach"),
    [
        (ConvS2S(replace(CONVS2S, encoder_layers=2, kernel=5), VOCABULARY, VOCABULARY), 2 * 2),
        (ByteNet(replace(BYTENET, max_dilation=4), VOCABULARY, VOCABULARY), 1 + 2 + 4),
    ],
    ids=["convs2s", "bytenet"],
)
def test_a_convolution_reaches_as_far_as_its_kernels(model: Seq2Seq[Any], reach: int) -> None:
    found = norms_of_all_dimensions(model)
    assert (found[: reach + 1] > 0).all()
    assert (found[reach + 1 :] == 0).all()


def test_attention_reaches_everything() -> None:
    found = norms_of_all_dimensions(Transformer(TINY, VOCABULARY, VOCABULARY))
    assert (found > 1e-3 * found[0]).all()


def test_fewer_probes_estimate_the_same() -> None:
    model = EncoderDecoder(RNN, VOCABULARY, VOCABULARY)
    exact = norms_of_all_dimensions(model)
    torch.testing.assert_close(gradient_norms(model, SOURCE, 8), exact, rtol=0.5, atol=0.0)
