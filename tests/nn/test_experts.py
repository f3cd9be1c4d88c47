"""Mixtures of experts: sparse, equal to the dense mixture, balanced if asked, safe in threads."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from regard.nn.dropout import drawing_from
from regard.nn.experts import MixtureOfExperts, NoisyTopK, squared_variation
from regard.nn.penalty import add_penalty, gathering
from regard.shapes import Tensor

D, HIDDEN, EXPERTS = 6, 10, 5


def mixture(top_k: int = 2, *, balance: float = 0.0) -> MixtureOfExperts:
    """A mixture whose gate has opinions."""
    torch.manual_seed(0)
    layer = MixtureOfExperts(D, HIDDEN, EXPERTS, top_k, balance=balance)
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    return layer


@pytest.fixture
def x() -> Tensor:
    return torch.randn(2, 7, D, generator=torch.Generator().manual_seed(1))


def dense_gates(layer: MixtureOfExperts, x: Tensor) -> Tensor:
    """G(x), an entry for every expert."""
    chosen = layer.gate(x)
    return torch.zeros(len(x), EXPERTS).scatter(1, chosen.experts, chosen.gates)


def every_expert(layer: MixtureOfExperts, x: Tensor) -> Tensor:
    """What all experts say of all positions, by the formula; M E D."""
    return torch.stack(
        [
            F.relu(x @ layer.inner[e].T + layer.inner_bias[e]) @ layer.outer[e].T
            + layer.outer_bias[e]
            for e in range(EXPERTS)
        ],
        1,
    )


@pytest.mark.parametrize("top_k", range(1, EXPERTS + 1))
def test_it_is_the_weighted_sum_of_equation_1(top_k: int, x: Tensor) -> None:
    layer, flat = mixture(top_k).eval(), x.flatten(0, 1)
    expected = (dense_gates(layer, flat).unsqueeze(-1) * every_expert(layer, flat)).sum(1)
    torch.testing.assert_close(layer(x).flatten(0, 1), expected)


def test_with_all_experts_and_no_noise_the_gate_is_a_softmax(x: Tensor) -> None:
    layer, flat = mixture(EXPERTS).eval(), x.flatten(0, 1)
    torch.testing.assert_close(dense_gates(layer, flat), layer.gate.score(flat).softmax(-1))


@pytest.mark.parametrize("top_k", range(1, EXPERTS + 1))
def test_k_gates_are_open_and_sum_to_one(top_k: int, x: Tensor) -> None:
    gates = dense_gates(mixture(top_k).train(), x.flatten(0, 1))
    assert ((gates > 0).sum(-1) == top_k).all()
    torch.testing.assert_close(gates.sum(-1), torch.ones(len(gates)))


def test_the_best_by_noisy_score_are_chosen(x: Tensor) -> None:
    gate, flat = mixture(2).gate.train(), x.flatten(0, 1)
    torch.manual_seed(3)
    noise = torch.empty(len(flat), EXPERTS).normal_()
    torch.manual_seed(3)
    chosen = gate(flat)
    noisy = gate.score(flat) + noise * F.softplus(gate.noise(flat))
    assert torch.equal(chosen.experts, noisy.topk(2).indices)


def test_only_the_chosen_experts_get_a_gradient(x: Tensor) -> None:
    layer, one = mixture(2).eval(), x[:1, :1]
    layer(one).square().sum().backward()
    chosen = set(layer.gate(one[0]).experts.flatten().tolist())
    for parameter in (layer.inner, layer.inner_bias, layer.outer, layer.outer_bias):
        assert parameter.grad is not None
        moved = parameter.grad.flatten(1).abs().sum(1).nonzero().flatten()
        assert set(moved.tolist()) == chosen


def test_the_gate_learns_from_what_experts_say(x: Tensor) -> None:
    layer = mixture(2).train()
    layer(x).square().sum().backward()
    for linear in (layer.gate.score, layer.gate.noise):
        assert linear.weight.grad is not None and linear.weight.grad.abs().sum() > 0


def test_only_the_chosen_experts_are_computed(x: Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    layer, rows = mixture(2).eval(), []
    linear = F.linear

    def counted(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        if weight.shape == (HIDDEN, D):
            rows.append(len(x))
        return linear(x, weight, bias)

    monkeypatch.setattr(F, "linear", counted)
    layer(x)
    assert sum(rows) == 2 * x.shape[0] * x.shape[1]
    assert all(rows)


def test_padding_visits_no_expert(x: Tensor) -> None:
    layer, mask = mixture(2, balance=1.0), torch.ones(2, 7, dtype=torch.bool)
    mask[0, 4:] = False
    found = []
    for padding in (0.0, 9.0):
        torch.manual_seed(5)
        with gathering() as penalties:
            y = layer(x.masked_fill(~mask.unsqueeze(-1), padding), mask)
        found.append((y, penalties[0]))
    assert (found[0][0][~mask] == 0).all()
    torch.testing.assert_close(found[0], found[1])
    alone = layer.eval()(x[:1, :4])
    torch.testing.assert_close(layer(x, mask)[:1, :4], alone)


@torch.no_grad()
def test_the_load_is_the_chance_to_be_chosen_with_noise_of_one_s_own_drawn_again() -> None:
    """Equation 8, by drawing: the others' noise stays, the expert's own is drawn many times."""
    torch.manual_seed(0)
    gate = NoisyTopK(D, EXPERTS, 2).train()
    nn.init.normal_(gate.score.weight)
    one = torch.randn(1, D)
    torch.manual_seed(7)
    load = gate(one).load
    torch.manual_seed(7)
    spread = F.softplus(gate.noise(one))[0]
    clean = gate.score(one)[0]
    noisy = clean + torch.empty(1, EXPERTS).normal_()[0] * spread
    for expert in range(EXPERTS):
        drawn = noisy.repeat(20_000, 1)
        drawn[:, expert] = clean[expert] + torch.randn(20_000) * spread[expert]
        chance = (drawn.topk(2).indices == expert).any(1).float().mean()
        assert float(load[expert]) == pytest.approx(float(chance), abs=0.02)


def test_without_noise_the_load_is_a_count(x: Tensor) -> None:
    chosen = mixture(2).eval().gate(x.flatten(0, 1))
    assert chosen.load.tolist() == [int((chosen.experts == e).sum()) for e in range(EXPERTS)]


def test_the_penalty_is_that_of_equations_7_and_11(x: Tensor) -> None:
    layer = mixture(2, balance=0.3).train()
    torch.manual_seed(2)
    with gathering() as penalties:
        layer(x)
    torch.manual_seed(2)
    chosen = layer.gate(x.flatten(0, 1))
    importance = torch.zeros(EXPERTS).index_add(0, chosen.experts.flatten(), chosen.gates.flatten())

    def variation(sums: Tensor) -> Tensor:
        return ((sums - sums.mean()) ** 2).mean() / sums.mean() ** 2

    (penalty,) = penalties
    torch.testing.assert_close(penalty, 0.3 * (variation(importance) + variation(chosen.load)))


def test_the_gate_counts_exactly_where_layers_multiply_in_bfloat16() -> None:
    layer = mixture(2, balance=1.0).train()
    many = torch.randn(3000, D, generator=torch.Generator().manual_seed(3))
    found = []
    for is_low in (False, True):
        torch.manual_seed(2)
        with torch.autocast("cpu", torch.bfloat16, enabled=is_low):
            found.append(layer.gate(many))
            found.append(layer.gate(many.bfloat16()))
    assert all(gates.dtype == torch.float32 for _, gates, _ in found)
    found = found[::2]
    assert all(torch.equal(*pair) for pair in zip(*found, strict=True))


def test_equal_sums_do_not_vary() -> None:
    assert float(squared_variation(torch.full((4,), 3.0))) == 0.0


def test_there_is_no_penalty_at_inference(x: Tensor) -> None:
    with gathering() as penalties:
        mixture(2, balance=1.0).eval()(x)
    assert penalties == []


def test_a_new_gate_uses_all_experts_alike() -> None:
    torch.manual_seed(0)
    chosen = NoisyTopK(D, EXPERTS, 2).train()(torch.randn(5000, D))
    counts = torch.bincount(chosen.experts.flatten(), minlength=EXPERTS)
    assert float(squared_variation(counts.float())) < 0.01


def trained_counts(balance: float) -> Tensor:
    """How often each expert is chosen after a toy task was learned by a gate with a favourite."""
    torch.manual_seed(0)
    layer = MixtureOfExperts(D, HIDDEN, EXPERTS, 1, balance=balance)
    offset = torch.ones(D)
    layer.gate.score.weight.data[0] = 0.5  # points where all inputs are
    parameters = list(layer.parameters())
    for _ in range(300):
        x = torch.randn(1, 64, D) + offset
        with gathering() as penalties:
            error = (layer(x) - x.sin()).square().mean()
        gradients = torch.autograd.grad(error + sum(penalties), parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.sub_(gradient, alpha=0.05)
    x = torch.randn(1000, D) + offset
    return torch.bincount(layer.eval().gate(x).experts.flatten(), minlength=EXPERTS)


def test_the_penalty_balances_the_experts() -> None:
    alone, balanced = trained_counts(balance=0.0), trained_counts(balance=0.5)
    assert float(squared_variation(alone.float())) > 2.0
    assert float(squared_variation(balanced.float())) < 0.5
    assert (balanced > 50).all()


def test_noise_is_drawn_from_the_thread_s_own_generator(x: Tensor) -> None:
    layer = mixture(2).train()

    def run(seed: int) -> Tensor:
        with drawing_from(torch.Generator().manual_seed(seed)):
            y: Tensor = layer(x)
        return y.detach()

    state = torch.get_rng_state()
    assert torch.equal(run(1), run(1))
    assert not torch.equal(run(1), run(2))
    assert torch.equal(torch.get_rng_state(), state)


def test_penalties_stay_in_their_thread() -> None:
    def gathered(value: float) -> list[float]:
        with gathering() as penalties:
            for _ in range(200):
                add_penalty(torch.tensor(value))
        return [float(penalty) for penalty in penalties]

    with ThreadPoolExecutor(4) as pool:
        for value, found in zip(range(8), pool.map(gathered, map(float, range(8))), strict=True):
            assert found == [value] * 200


def test_a_penalty_that_nobody_gathers_is_lost() -> None:
    add_penalty(torch.tensor(1.0))
    with gathering() as penalties:
        pass
    assert penalties == []
