"""A run folder of small files, and how to put other files into it."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from regard.build import build_model, create_run
from regard.config import RunConfig
from regard.data.config import DataConfig
from regard.decoding.config import DecodingConfig
from regard.models.transformer import TransformerConfig
from regard.sealed import MANIFEST, sealing
from regard.text.config import TextConfig
from regard.train.checkpoint import WEIGHTS, model_tensors, save_checkpoint, save_weights
from regard.train.config import TrainConfig
from regard.train.optimiser import build_optimiser
from regard.train.progress import Progress, Scores
from tests.little_corpus import write_corpus

CHECKPOINTS = ("best-20", "averaged-40", "step-40")


def write_run(place: Path, text: TextConfig | None = None, **model: Any) -> Path:
    """A model that has learned nothing: best-20 and step-40, each file a few kilobytes."""
    shape = {"d_model": 8, "heads": 2, "d_ff": 8, "encoder_layers": 1, "decoder_layers": 1}
    config = RunConfig(
        data=DataConfig(
            train=tuple(map(str, write_corpus(place))), valid_size=12, source_language="fr"
        ),
        text=text or TextConfig(kind="words", vocab_size=40),
        model=TransformerConfig(**{**shape, "max_positions": 64, **model}),
        train=TrainConfig(max_length=24),
        # What has learned nothing never ends a sentence by itself.
        decoding=DecodingConfig(beam=1, max_ratio=0.0, max_extra=4),
    )
    run = create_run(place / "run", config)
    torch.manual_seed(0)
    network = build_model(config.model, run.tokenisers)
    save_weights(run.folder / "best-20", model_tensors(network), Scores(20, 3.25, 12.5))
    optimiser = build_optimiser(network, config.train)
    save_checkpoint(run.folder, network, optimiser, Progress(step=40))
    return run.folder


def put(run: Path, name: str, content: bytes) -> None:
    """Put a file into a sealed run, with manifests that are true of it."""
    change(run, lambda folder: _write(folder / name, content))


def change(run: Path, edit: Callable[[Path], object]) -> None:
    """Change a run as its maker could: every manifest is true afterwards."""
    edit(run)
    for folder in [run / name for name in CHECKPOINTS if (run / name).is_dir()]:
        _reseal(folder, [])
    _reseal(run, list(CHECKPOINTS))


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def _reseal(folder: Path, apart: list[str]) -> None:
    aside = folder.with_name(f"{folder.name}.aside")
    folder.rename(aside)
    with sealing(folder) as temporary:
        for path in aside.iterdir():
            if path.name != MANIFEST and path.name not in apart:
                os.rename(path, temporary / path.name)
    for name in apart:
        if (aside / name).exists():
            (aside / name).rename(folder / name)
    shutil.rmtree(aside)


def best_weights(run: Path) -> Path:
    """The file whose weights are used to translate."""
    return run / "best-20" / WEIGHTS
