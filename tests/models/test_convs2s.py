"""ConvS2S: the paper's formulas, how far a state sees, and what is refused."""

import math
from dataclasses import replace

import pytest
import torch

from regard.attention import KeyValue
from regard.errors import ConfigError
from regard.lens.capture import capture
from regard.models.convs2s import ConvS2S, ConvS2SConfig
from regard.nn.weight_norm import WeightNorm
from regard.shapes import Tensor
from tests.models.architectures import CONVS2S, VOCABULARY, sentences, tiny_model

ROOT_HALF = math.sqrt(0.5)


def small(**changes: object) -> ConvS2S:
    torch.manual_seed(0)
    config = replace(CONVS2S, **changes)  # type: ignore[arg-type]
    return ConvS2S(config, VOCABULARY, VOCABULARY).eval()


def linear(layer: WeightNorm, x: Tensor) -> Tensor:
    weight = layer.gain * layer.direction / layer.direction.square().sum(1, keepdim=True).sqrt()
    return x @ weight.T + layer.bias


def gated(layer: WeightNorm, x: Tensor, kernel: int, places: range) -> Tensor:
    """v(W [x_{i + p} for every place p] + b) of one sentence, i by i; zeros stand around it."""
    rows = []
    for i in range(len(x)):
        inside = [x[i + p] if 0 <= i + p < len(x) else torch.zeros(x.shape[1]) for p in places]
        a, b = linear(layer, torch.cat(inside)).chunk(2)
        rows.append(a * torch.sigmoid(b))
    return torch.stack(rows)


@torch.no_grad()
@pytest.mark.parametrize("kernel", [1, 3, 5])
def test_it_follows_the_paper_s_formulas(kernel: int) -> None:
    model = small(kernel=kernel)
    for parameter in model.parameters():
        parameter.add_(0.1 * torch.randn_like(parameter))
    source, target = sentences([6], seed=1), sentences([5], seed=2)
    e, g = model.source(source.tokens)[0], model.target(target.tokens)[0]

    x = linear(model.encoder.inner, e)
    for block in model.encoder.layers:
        half = kernel // 2
        h = gated(block.convolution, x, kernel, range(-half, half + 1))  # type: ignore[arg-type]
        x = (h + x) * ROOT_HALF
    z = linear(model.encoder.outer, x)

    x = linear(model.decoder.inner, g)
    for layer in model.decoder.layers:
        h = gated(layer.convolution, x, kernel, range(1 - kernel, 1))  # type: ignore[arg-type]
        cross = layer.cross_attention
        d = (linear(cross.query, h) + g) * ROOT_HALF  # type: ignore[union-attr, arg-type]
        a = (d @ z.T / math.sqrt(z.shape[1])).softmax(-1)
        c = a @ ((z + e) * ROOT_HALF) * math.sqrt(len(e))
        h = (h + linear(cross.context, c)) * ROOT_HALF  # type: ignore[union-attr, arg-type]
        x = (h + x) * ROOT_HALF
    expected = linear(model.decoder.outer, x)

    memory = model.encode(source.tokens, source.mask)
    torch.testing.assert_close(memory.states[0], torch.cat([z, e], -1), rtol=1e-4, atol=1e-5)
    hidden = model.decode(memory, target.tokens, target.mask)[0]
    torch.testing.assert_close(hidden, expected, rtol=1e-4, atol=1e-5)


def seen_from(outputs: Tensor, inputs: Tensor, place: int) -> list[int]:
    """The inputs on which one output depends, by its gradient."""
    (gradient,) = torch.autograd.grad(outputs[0, place].square().sum(), inputs)
    found: list[int] = gradient[0].abs().sum(-1).nonzero().flatten().tolist()
    return found


@pytest.mark.parametrize(("layers", "kernel"), [(1, 3), (2, 3), (3, 5), (6, 5)])
def test_an_encoder_state_sees_layers_times_kernel_less_one_and_itself(
    layers: int, kernel: int
) -> None:
    model = small(encoder_layers=layers, kernel=kernel)
    length = 41
    e = torch.randn(1, length, CONVS2S.d_model, requires_grad=True)
    z = model.encoder(e, torch.ones(1, length, dtype=torch.bool))
    reach = layers * (kernel - 1) // 2
    assert seen_from(z, e, 20) == list(range(20 - reach, 20 + reach + 1))


def test_six_layers_of_width_five_see_the_paper_s_25_inputs() -> None:
    """Section 3.2's example."""
    model = small(encoder_layers=6, kernel=5)
    e = torch.randn(1, 41, CONVS2S.d_model, requires_grad=True)
    z = model.encoder(e, torch.ones(1, 41, dtype=torch.bool))
    assert len(seen_from(z, e, 20)) == 25


@pytest.mark.parametrize(("layers", "kernel"), [(1, 3), (2, 3), (3, 5)])
def test_a_decoder_state_sees_as_many_inputs_before_it_and_none_after(
    layers: int, kernel: int
) -> None:
    model = small(decoder_layers=layers, kernel=kernel)
    source = sentences([4])
    memory = model.encode(source.tokens, source.mask)
    g = torch.randn(1, 30, CONVS2S.d_model, requires_grad=True)
    key = memory.states[..., : CONVS2S.d_model].unsqueeze(1)
    hidden = model.decoder(g, KeyValue(key, key), source.mask[:, None, None, :])
    reach = layers * (kernel - 1)
    assert seen_from(hidden, g, 20) == list(range(20 - reach, 21))


def test_the_encoder_s_gradient_is_divided_among_its_readers() -> None:
    """Section 3.4; the embeddings that attention reads past the encoder keep theirs."""
    source = sentences([5])
    gradients = []
    for num_readers in (1, 3):
        model = small()
        model.encoder.share = 1 / num_readers
        memory = model.encode(source.tokens, source.mask)
        memory.states[..., : CONVS2S.d_model].sum().backward()
        gradients.append(model.encoder.outer.gain.grad)
        embedded = model.encode(source.tokens, source.mask).states[..., CONVS2S.d_model :]
        model.zero_grad()
        embedded.sum().backward()
        gradients.append(model.source.embedding.weight.grad)
    shared, own, shared_by_three, still_own = gradients
    assert shared is not None and shared_by_three is not None
    torch.testing.assert_close(shared_by_three, shared / 3)
    torch.testing.assert_close(still_own, own)


def test_as_many_attentions_look_as_there_are_decoder_layers() -> None:
    model = small(decoder_layers=4)
    source, target = sentences([5]), sentences([3])
    with capture(model) as seen:
        model(source.tokens, source.mask, target.tokens, target.mask)
    assert list(seen.calls) == [f"decoder.layers.{i}.cross_attention" for i in range(4)]


@torch.no_grad()
def test_variance_is_kept_at_the_start() -> None:
    """Sections 3.4 and 3.5: what enters with variance 1 leaves with about as much."""
    torch.manual_seed(0)
    config = ConvS2SConfig(encoder_layers=8, decoder_layers=8, dropout=0.0)
    model = ConvS2S(config, 100, 100).eval()
    tokens, mask = torch.randint(100, (4, 30)), torch.ones(4, 30, dtype=torch.bool)
    memory = model.encode(tokens, mask)
    z, e = memory.states.chunk(2, -1)
    hidden = model.decode(memory, tokens, mask)
    assert float(e.var()) == pytest.approx(1, abs=0.2)
    assert 0.3 < float(z.var()) < 3
    # √m assumes that all m source tokens weigh the same, and some weigh more.
    assert 0.3 < float(hidden.var()) < 10


@pytest.mark.parametrize(("kernel", "fit"), [(2, 3), (4, 5)])
def test_a_kernel_without_a_middle_is_refused(kernel: int, fit: int) -> None:
    with pytest.raises(ConfigError, match=f"model.kernel = {kernel} has no middle; try {fit}$"):
        ConvS2SConfig(kernel=kernel)


def test_weights_are_computed_once_for_all_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model("convs2s")
    source = sentences([5, 3])
    count = 0
    weight = WeightNorm.weight

    def counted(self: WeightNorm) -> Tensor:
        nonlocal count
        count += 1
        return weight(self)

    with torch.no_grad():
        state = model.start(model.encode(source.tokens, source.mask), 10)
        monkeypatch.setattr(WeightNorm, "weight", counted)
        model.step(state, torch.tensor([4, 4]))
    assert count == 0
