"""Adam, written out, and by the kernel that PyTorch has for it."""

from collections.abc import Iterable

import torch
from torch import nn

from regard.errors import ModelFileError
from regard.plain import is_plain
from regard.shapes import Tensor
from regard.train.config import TrainConfig
from regard.train.cores import Cores

STEP = "step"
MEAN, SQUARE = "mean", "square"


class Adam:
    """Adam, with the weight decay inside the gradient or, as AdamW, apart from it.

        m ← β₁ m + (1 − β₁) g              m̂ = m / (1 − β₁ᵗ)
        v ← β₂ v + (1 − β₂) g²             v̂ = v / (1 − β₂ᵗ)
        θ ← θ − η m̂ / (√v̂ + ε)

    Kingma & Ba 2015, algorithm 1. Decay λ: g ← g + λθ before, or, decoupled, θ ← θ − ηλθ
    (Loshchilov & Hutter 2019, algorithm 2).

    Not `torch.optim.Adam`, whose construction loads PyTorch's compiler, 70 MB of it, and whose
    kernel this shares: the results are the same to the bit.

    Args:
        named: the parameters and their names.
        beta1: memory of the gradient.
        beta2: memory of its square.
        epsilon: guard against division by zero.
        weight_decay: λ.
        is_decoupled: whether the decay is AdamW's.
        cores: who move parameters of their own each.
    """

    def __init__(
        self,
        named: Iterable[tuple[str, nn.Parameter]],
        *,
        beta1: float,
        beta2: float,
        epsilon: float,
        weight_decay: float = 0.0,
        is_decoupled: bool = False,
        cores: Cores | None = None,
    ) -> None:
        self.parameters = dict(named)
        self.cores = cores or Cores(1)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.weight_decay = weight_decay
        self.is_decoupled = is_decoupled
        self.num_steps = torch.zeros(())
        self.means = {name: torch.zeros_like(p) for name, p in self.parameters.items()}
        self.squares = {name: torch.zeros_like(p) for name, p in self.parameters.items()}

    def zero_grad(self) -> None:
        for parameter in self.parameters.values():
            parameter.grad = None

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Move every parameter that has a gradient by a step of this learning rate."""
        self.num_steps += 1
        moving = [name for name, p in self.parameters.items() if p.grad is not None]
        if is_plain():
            for name in moving:
                self._move(name, rate)
            return
        update = torch._fused_adamw_ if self.is_decoupled else torch._fused_adam_

        def move(
            parameters: list[Tensor],
            gradients: list[Tensor],
            means: list[Tensor],
            squares: list[Tensor],
        ) -> None:
            update(
                parameters,
                gradients,
                means,
                squares,
                [],
                [self.num_steps.to(parameter.device) for parameter in parameters],
                lr=rate,
                beta1=self.beta1,
                beta2=self.beta2,
                weight_decay=self.weight_decay,
                eps=self.epsilon,
                amsgrad=False,
                maximize=False,
            )

        parameters = [self.parameters[name] for name in moving]
        self.cores.each(
            move,
            parameters,
            [_gradient(parameter) for parameter in parameters],
            [self.means[name] for name in moving],
            [self.squares[name] for name in moving],
        )

    def _move(self, name: str, rate: float) -> None:
        """The formula, for one parameter."""
        parameter, m, v = self.parameters[name], self.means[name], self.squares[name]
        t, decay = float(self.num_steps), self.weight_decay
        g = _gradient(parameter)
        if self.is_decoupled:
            parameter.sub_(rate * decay * parameter)
        else:
            g = g + decay * parameter
        m.mul_(self.beta1).add_((1 - self.beta1) * g)
        v.mul_(self.beta2).add_((1 - self.beta2) * g**2)
        m_hat = m / (1 - self.beta1**t)
        v_hat = v / (1 - self.beta2**t)
        parameter.sub_(rate * m_hat / (v_hat.sqrt() + self.epsilon))

    def tensors(self) -> dict[str, Tensor]:
        """All that is remembered between steps."""
        means = {f"{name}/{MEAN}": tensor for name, tensor in self.means.items()}
        squares = {f"{name}/{SQUARE}": tensor for name, tensor in self.squares.items()}
        return {STEP: self.num_steps} | means | squares

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Put back what `tensors` gave.

        Raises:
            ModelFileError: these are not the tensors of these parameters.
        """
        mine = self.tensors()
        for name in sorted(mine.keys() ^ tensors.keys()):
            what = "is missing" if name in mine else "fits no parameter"
            raise ModelFileError(f"the optimiser's state {name!r} {what}")
        for name, tensor in tensors.items():
            if tensor.shape != mine[name].shape:
                raise ModelFileError(
                    f"the optimiser's state {name!r} has shape {list(tensor.shape)}, "
                    f"the model's is {list(mine[name].shape)}"
                )
            mine[name].copy_(tensor)


def build_optimiser(model: nn.Module, config: TrainConfig, cores: Cores | None = None) -> Adam:
    """The optimiser that the config describes, for all parameters of the model."""
    return Adam(
        model.named_parameters(),
        beta1=config.beta1,
        beta2=config.beta2,
        epsilon=config.epsilon,
        weight_decay=config.weight_decay,
        is_decoupled=config.optimiser == "adamw",
        cores=cores,
    )


def _gradient(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad
