"""Recurrent cells are torch.nn's, and the loop over time is torch's kernel."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import nn

from regard.nn.recurrence import Bidirectional, Recurrence, Stack, reverse
from regard.nn.recurrent import CELLS, LSTM, Cell, CellKind, State
from regard.plain import plain
from regard.shapes import Tensor

assert_close = partial(torch.testing.assert_close, rtol=1e-5, atol=1e-6)

D_INPUT, D_HIDDEN = 3, 5
LENGTHS = (4, 1, 6)
MASK = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS).unsqueeze(1)

TORCH_CELLS: dict[CellKind, Callable[..., nn.Module]] = {
    "rnn": nn.RNNCell,
    "gru": nn.GRUCell,
    "lstm": nn.LSTMCell,
}
TORCH_LAYERS: dict[CellKind, Callable[..., nn.Module]] = {
    "rnn": nn.RNN,
    "gru": nn.GRU,
    "lstm": nn.LSTM,
}

every_kind = pytest.mark.parametrize("kind", CELLS)


def cell_of(kind: CellKind, *, has_norm: bool = False, d_input: int = D_INPUT) -> Cell:
    torch.manual_seed(1)
    cell = CELLS[kind](d_input, D_HIDDEN, has_norm=has_norm)
    for parameter in cell.parameters():
        nn.init.normal_(parameter, std=0.5)
    return cell


def state_of(cell: Cell, batch: int = len(LENGTHS)) -> State:
    torch.manual_seed(2)
    return tuple(torch.randn(batch, D_HIDDEN) for _ in range(cell.num_states))


def copy_weights(cell: Cell, into: nn.Module, suffix: str = "") -> None:
    weights = {
        f"weight_ih{suffix}": cell.input.weight,
        f"weight_hh{suffix}": cell.hidden.weight,
        f"bias_ih{suffix}": cell.input.bias,
        f"bias_hh{suffix}": cell.hidden.bias,
    }
    with torch.no_grad():
        for name, weight in weights.items():
            into.get_parameter(name).copy_(weight)


def inputs() -> Tensor:
    torch.manual_seed(3)
    return torch.randn(len(LENGTHS), max(LENGTHS), D_INPUT)


@every_kind
def test_a_cell_equals_torchs(kind: CellKind) -> None:
    cell = cell_of(kind)
    theirs = TORCH_CELLS[kind](D_INPUT, D_HIDDEN)
    copy_weights(cell, theirs)
    x, state = inputs()[:, 0], state_of(cell)
    found = cell(x, state)
    expected = theirs(x, state if len(state) > 1 else state[0])
    assert_close(found, expected if len(state) > 1 else (expected,))


@every_kind
@pytest.mark.parametrize("is_masked", [False, True])
def test_torchs_kernel_equals_the_cell_in_value_and_gradient(
    kind: CellKind, is_masked: bool
) -> None:
    layer = Recurrence(cell_of(kind))
    mask = MASK if is_masked else None

    def run() -> list[Tensor]:
        x = inputs().requires_grad_()
        state = tuple(each.requires_grad_() for each in state_of(layer.cell))
        output, last = layer(x, state, mask)
        torch.manual_seed(4)
        loss = sum((each * torch.randn(each.shape)).sum() for each in (output, *last))
        assert isinstance(loss, Tensor)
        gradients = torch.autograd.grad(loss, [x, *state, *layer.parameters()])
        return [output, *last, *gradients]

    with plain():
        expected = run()
    assert_close(run(), expected)


@every_kind
def test_a_layer_equals_torchs_on_every_sentence_alone(kind: CellKind) -> None:
    cell = cell_of(kind)
    theirs = TORCH_LAYERS[kind](D_INPUT, D_HIDDEN, batch_first=True)
    copy_weights(cell, theirs, "_l0")
    x = inputs()
    output, last = Recurrence(cell)(x, mask=MASK)
    for row, length in enumerate(LENGTHS):
        expected, end = theirs(x[row : row + 1, :length])
        ends = end if isinstance(end, tuple) else (end,)
        assert_close(output[row, :length], expected[0])
        assert_close([each[row] for each in last], [each[0, 0] for each in ends])
        assert (output[row, length:] == 0).all()


@every_kind
@pytest.mark.parametrize("has_norm", [False, True])
def test_padding_changes_nothing(kind: CellKind, has_norm: bool) -> None:
    layer = Recurrence(cell_of(kind, has_norm=has_norm))
    x = inputs()
    other = x.where(MASK.unsqueeze(-1), torch.randn_like(x))
    assert_close(layer(other, mask=MASK), layer(x, mask=MASK))


def test_a_bidirectional_layer_equals_torchs_on_packed_sentences() -> None:
    torch.manual_seed(1)
    layer = Bidirectional("lstm", D_INPUT, D_HIDDEN)
    theirs = nn.LSTM(D_INPUT, D_HIDDEN, batch_first=True, bidirectional=True)
    copy_weights(layer.rightwards.cell, theirs, "_l0")
    copy_weights(layer.leftwards.cell, theirs, "_l0_reverse")
    x = inputs()
    packed = nn.utils.rnn.pack_padded_sequence(
        x, torch.tensor(LENGTHS), batch_first=True, enforce_sorted=False
    )
    outputs, (h, c) = theirs(packed)
    expected, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
    found, right_end, left_end = layer(x, MASK)
    assert_close(found, expected)
    assert_close((*right_end, *left_end), (h[0], c[0], h[1], c[1]))


@every_kind
@pytest.mark.parametrize("has_norm", [False, True])
def test_steps_of_a_stack_are_its_pass_over_time(kind: CellKind, has_norm: bool) -> None:
    torch.manual_seed(1)
    stack = Stack(kind, D_INPUT, D_HIDDEN, 2, has_norm=has_norm)
    x = inputs()
    outputs, last = stack(x)
    state = tuple(torch.zeros(len(x), D_HIDDEN) for _ in last)
    for t in range(x.shape[1]):
        output, state = stack.step(x[:, t], state)
        assert_close(output, outputs[:, t])
    assert_close(state, last)


def test_reversing_twice_is_nothing_and_leaves_the_padding() -> None:
    tokens = torch.tensor([[1, 2, 3, 4, 0, 0], [5, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6]])
    backwards = reverse(tokens, MASK)
    assert backwards.tolist() == [[4, 3, 2, 1, 0, 0], [5, 0, 0, 0, 0, 0], [6, 5, 4, 3, 2, 1]]
    assert torch.equal(reverse(backwards, MASK), tokens)


@every_kind
def test_layer_norm_in_the_cell_does_not_see_the_scale_of_its_input(kind: CellKind) -> None:
    cell = cell_of(kind, has_norm=True)
    x, state = inputs()[:, 0], state_of(cell)
    assert_close(cell(1000 * x, state), cell(x, state), atol=1e-4)


@every_kind
def test_at_the_first_step_no_gradient_drowns_the_others(kind: CellKind) -> None:
    torch.manual_seed(1)
    cell = CELLS[kind](D_INPUT, D_HIDDEN, has_norm=True)
    x = inputs()[:, 0]
    cell(x, cell.start(x))[0].sum().backward()
    norms = [p.grad.norm() for p in cell.parameters() if p.grad is not None]
    assert max(norms) < 30 * cell.input.weight.grad.norm()  # type: ignore[union-attr]


def test_layer_norm_in_the_lstm_is_the_papers_formula() -> None:
    cell = cell_of("lstm", has_norm=True)
    assert isinstance(cell, LSTM)
    assert cell.norm_input is not None and cell.norm_hidden is not None
    assert cell.norm_cell is not None
    x, (h, c) = inputs()[:, 0], state_of(cell)
    sums = cell.norm_hidden(cell.hidden(h)) + cell.norm_input(cell.input(x))
    i, f, g, o = sums.chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * cell.norm_cell(c).tanh()
    assert_close(cell(x, state_of(cell)), (h, c))


def test_a_layer_norm_in_the_cell_knows_no_neighbours_and_a_batch_norm_would() -> None:
    cell = cell_of("rnn", has_norm=True)
    h = state_of(cell)[0]
    assert_close(cell.recall(h)[:1], cell.recall(h[:1]))
    batch_norm = nn.BatchNorm1d(D_HIDDEN)
    heard = cell.hidden(h)
    assert not torch.allclose(batch_norm(heard)[:2], batch_norm(heard[:2]))
