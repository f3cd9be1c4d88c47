"""What each recurrent architecture's paper says of it, beyond what is true of them all."""

from functools import partial
from typing import Any

import pytest
import torch

from regard.lens.capture import capture
from regard.models.bahdanau import Bahdanau
from regard.models.deep_att import DeepAtt, FastForward
from regard.models.gnmt import GNMT
from regard.models.interface import Seq2Seq
from regard.models.luong import Luong
from regard.models.seq2seq import EncoderDecoder
from regard.shapes import Tensor
from tests.models.architectures import another_token, sentences, tiny_model

assert_close = partial(torch.testing.assert_close, rtol=1e-4, atol=1e-5)

SOURCE = sentences([5], seed=1)
TARGET = sentences([4], seed=2)


def weights_of(model: Seq2Seq[Any]) -> Tensor:
    """The cross-attention of a teacher-forced pass; T S."""
    with capture(model) as seen:
        memory = model.encode(SOURCE.tokens, SOURCE.mask)
        model.decode(memory, TARGET.tokens, TARGET.mask)
    ((site, calls),) = seen.calls.items()
    assert site.endswith("cross_attention")
    return torch.cat(calls, 2)[0, 0]


@torch.no_grad()
def test_the_bottleneck_is_all_the_decoder_knows() -> None:
    model = tiny_model("seq2seq-lstm")
    memory = model.encode(SOURCE.tokens, SOURCE.mask)
    forgetful = type(memory)(torch.randn_like(memory.states), memory.mask, memory.last)
    assert torch.equal(
        model.decode(forgetful, TARGET.tokens, TARGET.mask),
        model.decode(memory, TARGET.tokens, TARGET.mask),
    )


@torch.no_grad()
def test_a_reversed_source_is_read_from_its_end() -> None:
    model = tiny_model("seq2seq-lstm")
    assert isinstance(model, EncoderDecoder)
    backwards = model.encode(SOURCE.tokens, SOURCE.mask).last
    model.reverse_source = False
    assert_close(model.encode(SOURCE.tokens.flip(1), SOURCE.mask).last, backwards)


@torch.no_grad()
def test_a_step_of_bahdanaus_decoder_is_the_papers() -> None:
    model = tiny_model("bahdanau")
    assert isinstance(model, Bahdanau)
    memory = model.encode(SOURCE.tokens, SOURCE.mask)
    h = memory.states[0]  # S 2D
    width = h.shape[1] // 2
    leftwards = h[:, width:]
    s = torch.tanh(model.initial(leftwards[0]))
    score = model.decoder.cross_attention.score
    assert score is not None
    alpha = score(s[None], h)[0].softmax(-1)
    c = alpha @ h
    y = model.target(TARGET.tokens[0, 0])
    cell = model.decoder.cell
    x = cell.input.weight @ y + cell.input.bias + model.decoder.context.weight @ c
    u = cell.hidden.weight @ s + cell.hidden.bias
    (x_r, x_z, x_n), (u_r, u_z, u_n) = x.chunk(3), u.chunk(3)
    r, z = (x_r + u_r).sigmoid(), (x_z + u_z).sigmoid()
    s = z * s + (1 - z) * (x_n + r * u_n).tanh()
    both = model.maxout(torch.cat([s, y, c]))
    t = torch.maximum(both[0::2], both[1::2])
    assert_close(model.step(model.start(memory, 1), TARGET.tokens[:, 0])[0], t)
    assert_close(weights_of(model)[0], alpha)


@torch.no_grad()
@pytest.mark.parametrize("name", ["luong-dot", "luong", "luong-concat"])
def test_luongs_attentional_state_is_the_papers(name: str) -> None:
    model = tiny_model(name)
    assert isinstance(model, Luong)
    memory = model.encode(SOURCE.tokens, SOURCE.mask)
    y = model.target(TARGET.tokens[:, :1])
    x = torch.cat([y, torch.zeros_like(y)], -1) if model.input_feeding else y
    h, _ = model.decoder(x, memory.last)
    score = model.cross_attention.score
    e = h @ memory.states.mT if score is None else score(h, memory.states)
    c = e.softmax(-1) @ memory.states
    expected = torch.tanh(model.combine(torch.cat([c, h], -1)))[:, 0]
    assert_close(model.step(model.start(memory, 1), TARGET.tokens[:, 0]), expected)


@torch.no_grad()
def test_local_attention_stays_inside_its_window() -> None:
    weights = weights_of(tiny_model("luong-local-m"))
    distance = (torch.arange(4).unsqueeze(1) - torch.arange(5)).abs()
    assert (weights[distance > 2] == 0).all() and (weights[distance <= 2] > 0).all()
    assert_close(weights.sum(-1), torch.ones(4))


@torch.no_grad()
def test_input_feeding_tells_a_step_where_the_last_one_looked() -> None:
    """Only with it does what one step attended to change the query of the next."""
    for name, is_fed in (("luong", True), ("luong-dot", False)):
        model = tiny_model(name)
        memory = model.encode(SOURCE.tokens, SOURCE.mask)
        state = model.start(memory, 2)
        model.step(state, TARGET.tokens[:, 0])
        hidden = [each.clone() for each in state.rows]
        other = model.start(memory, 2)
        assert other.memory is not None
        other.memory = other.memory._replace(value=torch.zeros_like(other.memory.value))
        model.step(other, TARGET.tokens[:, 0])
        assert_close(other.rows[:4], tuple(hidden[:4]))
        model.step(state, TARGET.tokens[:, 1])
        model.step(other, TARGET.tokens[:, 1])
        assert torch.allclose(other.rows[0], state.rows[0]) == (not is_fed)


@torch.no_grad()
def test_gnmts_layers_are_residual_from_the_third_on() -> None:
    model = tiny_model("gnmt")
    assert isinstance(model, GNMT)
    x, _, _ = model.encoder_bottom(model.source(SOURCE.tokens), SOURCE.mask)
    second, third, fourth = model.encoder
    x2, _ = second(x, mask=SOURCE.mask)
    x3 = third(x2, mask=SOURCE.mask)[0] + x2
    x4 = fourth(x3, mask=SOURCE.mask)[0] + x3
    assert_close(model.encode(SOURCE.tokens, SOURCE.mask).states, x4)


@torch.no_grad()
@pytest.mark.parametrize(("column", "layer", "is_rightwards"), [(0, 0, 1), (1, 0, 0), (0, 1, 0)])
def test_deep_atts_columns_read_in_turns(column: int, layer: int, is_rightwards: int) -> None:
    """What one layer of a column does not know is the word at the end of its way."""
    model = tiny_model("deep-att")
    assert isinstance(model, DeepAtt)
    seen: list[Tensor] = []
    place = model.get_submodule(f"encoder.{column}.{layer}")
    hook = place.register_forward_hook(lambda module, args, output: seen.append(args[0]))
    model.encode(SOURCE.tokens, SOURCE.mask)
    model.encode(another_token(SOURCE, 4).tokens, SOURCE.mask)
    hook.remove()
    first, second = seen
    changed = (first != second).any(-1)[0].tolist()
    if layer == 0:  # it reads words: the changed one comes last, or first
        assert changed == ([False] * 4 + [True] if is_rightwards else [True] + [False] * 4)
    else:  # the layer below read rightwards, so only the last state changed; it comes first now
        assert changed == [True] + [False] * 4


@torch.no_grad()
def test_fast_forward_hands_on_what_the_gates_heard() -> None:
    model = tiny_model("deep-att")
    assert isinstance(model, DeepAtt)
    (upper,) = model.decoder
    assert isinstance(upper, FastForward)
    x = torch.randn(2, 3, upper.cell.input.in_features)
    f, h = upper(x)
    assert_close(f, upper.cell.input(x))
    state = upper.cell.start(x)
    for t in range(3):
        state = upper.cell.advance(f[:, t], state)
        assert_close(h[:, t], state[0])
