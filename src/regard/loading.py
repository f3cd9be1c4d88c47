"""Which weights of a run folder to use, and a model filled with them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch

from regard.bounded import check_own
from regard.build import Run, build_model
from regard.errors import ConfigError, ModelFileError
from regard.models.interface import Seq2Seq
from regard.sealed import verify
from regard.train.checkpoint import (
    check_weights,
    checkpoints,
    load_weights,
    newest_checkpoint,
    read_scores,
)
from regard.train.progress import Scores

Read = TypeVar("Read")


def check_can_quantise(run: Run) -> None:
    """Refuse a model whose layers are more than linear ones.

    Raises:
        ConfigError: it is not a Transformer.
    """
    arch = run.config.model.arch
    if arch != "transformer":
        raise ConfigError(
            f'{run.folder}: model.arch = "{arch}"; only a transformer is computed in 8-bit integers'
        )


def load_model(run: Run, checkpoint: Path) -> Seq2Seq[Any]:
    """The model of a run with the weights of one of its checkpoints.

    Raises:
        ModelFileError: they are not what the run file describes; nothing was allocated then.
    """
    check_own(checkpoint, run.folder)
    # Shapes without numbers. To compute with such, PyTorch would import its compiler, which takes
    # longer than to load a model: what is computed while a Transformer is built is left out.
    with torch.device("meta"):
        check_weights(build_model(run.config.model, run.tokenisers), checkpoint)
    model = build_model(run.config.model, run.tokenisers)
    load_weights(model, checkpoint)
    return model


def choose_checkpoint(
    run: Run, name: str | None = None, warn: Callable[[str], None] = lambda line: None
) -> Path:
    """The weights of a run to use, checked against their manifest.

    Raises:
        ModelFileError: there are none, or the one asked for is damaged.
    """
    if name in ("best", "averaged", "last"):
        kinds = ["step" if name == "last" else name]
    elif name is not None:
        every = [
            f.name for kind in ("best", "averaged", "step") for f in checkpoints(run.folder, kind)
        ]
        if name not in every:
            known = ", ".join(every) or "none"
            raise ModelFileError(f"{run.folder}: no checkpoint {name}; there are: {known}")
        verify(run.folder / name)
        return run.folder / name
    else:
        kinds = ["best", "averaged"]
    found = [f for kind in kinds if (f := newest_checkpoint(run.folder, kind, warn))]
    if not found and name is None:
        found = [f for f in [newest_checkpoint(run.folder, "step", warn)] if f]
    if not found:
        raise ModelFileError(
            f"{run.folder}: no {name or 'trained'} weights; `regard train --resume` goes on with it"
        )
    best, *others = found
    stop_on = run.config.train.stop_on
    for other in others:
        if _scores(other, stop_on).is_better_than(_scores(best, stop_on), stop_on):
            best = other
    return best


def read_chosen(
    run: Run,
    name: str | None,
    warn: Callable[[str], None],
    read: Callable[[Path], Read],
) -> Read:
    """What `read` makes of the weights of a run to use; see `choose_checkpoint`.

    A training that goes on meanwhile replaces its weights: if those that were chosen are gone,
    others are.

    Raises:
        ModelFileError: there are none, or they are not what they should be.
    """
    while True:
        chosen = choose_checkpoint(run, name, warn)
        try:
            return read(chosen)
        except (ModelFileError, OSError):
            if chosen.exists():
                raise


def _scores(checkpoint: Path, stop_on: str) -> Scores:
    scores = read_scores(checkpoint)
    if stop_on == "bleu" and scores.bleu is None:
        raise ModelFileError(f"{checkpoint}: no BLEU to compare it by; name it with checkpoint")
    return scores
