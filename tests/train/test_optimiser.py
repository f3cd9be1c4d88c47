"""The optimiser: the paper's Adam, and AdamW."""

import pytest
import torch
from torch import nn

from regard.train.config import TrainConfig
from regard.train.optimiser import build_optimiser


def after_one_step(config: TrainConfig, gradient: float, start: float = 1.0) -> float:
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, start)
    optimiser = build_optimiser(model, config)
    model.weight.grad = torch.full((1, 1), gradient)
    optimiser.step()
    return model.weight.item()


@pytest.mark.parametrize("kind", ["adam", "adamw"])
@pytest.mark.parametrize("gradient", [0.01, -3.0])
def test_the_first_step_is_the_rate_whatever_the_gradient(kind: str, gradient: float) -> None:
    """m̂ / √v̂ = ±1 after one step (Kingma & Ba 2015, section 2.1)."""
    config = TrainConfig(optimiser=kind, learning_rate=0.1)  # type: ignore[arg-type]
    expected = 1.0 - 0.1 * (1 if gradient > 0 else -1)
    assert after_one_step(config, gradient) == pytest.approx(expected, rel=1e-4)


def test_two_steps_follow_the_formula() -> None:
    config = TrainConfig(learning_rate=0.1)
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, 1.0)
    optimiser = build_optimiser(model, config)
    m = v = 0.0
    expected = 1.0
    for step, gradient in enumerate((0.5, -2.0), start=1):
        model.weight.grad = torch.full((1, 1), gradient)
        optimiser.step()
        m = 0.9 * m + 0.1 * gradient
        v = 0.98 * v + 0.02 * gradient**2
        expected -= 0.1 * (m / (1 - 0.9**step)) / ((v / (1 - 0.98**step)) ** 0.5 + 1e-9)
    assert model.weight.item() == pytest.approx(expected, rel=1e-5)


def test_adamw_decays_the_weight_and_adam_the_gradient() -> None:
    decoupled = TrainConfig(optimiser="adamw", learning_rate=0.1, weight_decay=0.5)
    coupled = TrainConfig(optimiser="adam", learning_rate=0.1, weight_decay=0.5)
    assert after_one_step(decoupled, 0.0) == pytest.approx(1.0 * (1 - 0.1 * 0.5))
    assert after_one_step(coupled, 0.0) == pytest.approx(1.0 - 0.1, rel=1e-4)
