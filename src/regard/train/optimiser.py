"""The optimiser, and its state as plain named tensors."""

from collections.abc import Iterable

import torch
from torch import nn

from regard.errors import ModelFileError
from regard.shapes import Tensor
from regard.train.config import TrainConfig


def build_optimiser(model: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """Adam (Kingma & Ba 2015) or AdamW (Loshchilov & Hutter 2019), in PyTorch's fused form."""
    kind: type[torch.optim.Adam] = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[
        config.optimiser
    ]
    return kind(
        model.parameters(),
        lr=config.learning_rate,
        betas=(config.beta1, config.beta2),
        eps=config.epsilon,
        weight_decay=config.weight_decay,
        fused=True,
    )


def optimiser_tensors(
    optimiser: torch.optim.Optimizer, named: Iterable[tuple[str, nn.Parameter]]
) -> dict[str, Tensor]:
    """The optimiser's memory as `<parameter>/<what>`; empty before the first step."""
    return {
        f"{name}/{what}": tensor
        for name, parameter in named
        for what, tensor in optimiser.state.get(parameter, {}).items()
    }


def restore_optimiser(
    optimiser: torch.optim.Optimizer,
    named: Iterable[tuple[str, nn.Parameter]],
    tensors: dict[str, Tensor],
) -> None:
    """Put back what `optimiser_tensors` gave.

    Raises:
        ModelFileError: the tensors are not those of this model.
    """
    parameters = dict(named)
    for key, tensor in tensors.items():
        name, what = key.rsplit("/", 1)
        parameter = parameters.get(name)
        is_scalar = what == "step"
        if parameter is None or (not is_scalar and tensor.shape != parameter.shape):
            raise ModelFileError(f"the optimiser's state {key!r} does not fit the model")
        # A copy: what was loaded is a map of a file that will be removed.
        optimiser.state[parameter][what] = tensor.to(parameter.device, copy=True)
