"""The optimiser: the paper's Adam, and AdamW, by formula and by kernel."""

import contextlib
import copy

import pytest
import torch
from torch import nn

from regard.errors import ModelFileError
from regard.plain import plain
from regard.train.config import TrainConfig
from regard.train.optimiser import Adam, build_optimiser


def after_one_step(config: TrainConfig, gradient: float, start: float = 1.0) -> float:
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, start)
    optimiser = build_optimiser(model, config)
    model.weight.grad = torch.full((1, 1), gradient)
    optimiser.step(0.1)
    return model.weight.item()


@pytest.mark.parametrize("kind", ["adam", "adamw"])
@pytest.mark.parametrize("gradient", [0.01, -3.0])
def test_the_first_step_is_the_rate_whatever_the_gradient(kind: str, gradient: float) -> None:
    """m̂ / √v̂ = ±1 after one step (Kingma & Ba 2015, section 2.1)."""
    config = TrainConfig(optimiser=kind)  # type: ignore[arg-type]
    expected = 1.0 - 0.1 * (1 if gradient > 0 else -1)
    assert after_one_step(config, gradient) == pytest.approx(expected, rel=1e-4)


def test_adamw_decays_the_weight_and_adam_the_gradient() -> None:
    decoupled = TrainConfig(optimiser="adamw", weight_decay=0.5)
    coupled = TrainConfig(optimiser="adam", weight_decay=0.5)
    assert after_one_step(decoupled, 0.0) == pytest.approx(1.0 * (1 - 0.1 * 0.5))
    assert after_one_step(coupled, 0.0) == pytest.approx(1.0 - 0.1, rel=1e-4)


def moved(kind: str, decay: float, *, is_plain: bool) -> nn.Linear:
    """A layer after five steps on random gradients."""
    torch.manual_seed(1)
    model = nn.Linear(7, 5)
    config = TrainConfig(optimiser=kind, weight_decay=decay)  # type: ignore[arg-type]
    optimiser = build_optimiser(model, config)
    with plain() if is_plain else contextlib.nullcontext():
        for _ in range(5):
            set_gradients(model)
            optimiser.step(0.01)
    return model


def set_gradients(model: nn.Module) -> None:
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)


def moved_by_torch(kind: str, decay: float) -> nn.Linear:
    """The same by `torch.optim`."""
    torch.manual_seed(1)
    model = nn.Linear(7, 5)
    theirs = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[kind](
        model.parameters(), lr=0.01, betas=(0.9, 0.98), eps=1e-9, weight_decay=decay, fused=True
    )
    for _ in range(5):
        set_gradients(model)
        theirs.step()
    return model


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_five_steps_are_torchs_to_the_bit(kind: str, decay: float) -> None:
    ours, theirs = moved(kind, decay, is_plain=False), moved_by_torch(kind, decay)
    assert torch.equal(ours.weight, theirs.weight) and torch.equal(ours.bias, theirs.bias)


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_the_kernel_follows_the_formula(kind: str, decay: float) -> None:
    ours, formula = moved(kind, decay, is_plain=False), moved(kind, decay, is_plain=True)
    torch.testing.assert_close(ours.weight, formula.weight)


def test_a_parameter_without_a_gradient_stays() -> None:
    model = nn.Linear(2, 2)
    before = model.bias.clone()
    optimiser = build_optimiser(model, TrainConfig())
    model.weight.grad = torch.ones(2, 2)
    optimiser.step(0.1)
    assert torch.equal(model.bias, before)


def test_gradients_are_forgotten() -> None:
    model = nn.Linear(2, 2)
    set_gradients(model)
    build_optimiser(model, TrainConfig()).zero_grad()
    assert model.weight.grad is None and model.bias.grad is None


def test_what_is_remembered_can_be_put_back() -> None:
    model = nn.Linear(3, 3)
    optimiser = build_optimiser(model, TrainConfig())
    set_gradients(model)
    optimiser.step(0.1)
    twin = copy.deepcopy(model)
    successor = build_optimiser(twin, TrainConfig())
    successor.restore({name: tensor.clone() for name, tensor in optimiser.tensors().items()})
    for network, its_optimiser in ((model, optimiser), (twin, successor)):
        torch.manual_seed(2)
        set_gradients(network)
        its_optimiser.step(0.1)
    assert torch.equal(model.weight, twin.weight)


def optimiser_of_a_layer() -> Adam:
    return build_optimiser(nn.Linear(2, 3), TrainConfig())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"other/mean": torch.zeros(1)}, "'other/mean' fits no parameter"),
        ({"weight/mean": None}, "'weight/mean' is missing"),
        ({"bias/square": torch.zeros(7)}, r"'bias/square' has shape \[7\], the model's is \[3\]"),
    ],
)
def test_a_state_that_does_not_fit_is_named(
    change: dict[str, torch.Tensor | None], message: str
) -> None:
    optimiser = optimiser_of_a_layer()
    state = {**optimiser.tensors(), **change}
    with pytest.raises(ModelFileError, match=message):
        optimiser.restore({name: t for name, t in state.items() if t is not None})


def test_pytorchs_compiler_is_not_loaded() -> None:
    """It would cost 70 MB and a second at every start."""
    import subprocess
    import sys

    program = """
import sys, torch
from regard.train.config import TrainConfig
from regard.train.optimiser import build_optimiser
model = torch.nn.Linear(2, 2)
optimiser = build_optimiser(model, TrainConfig())
model(torch.ones(1, 2)).sum().backward()
optimiser.step(0.1)
sys.exit("torch._dynamo" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
