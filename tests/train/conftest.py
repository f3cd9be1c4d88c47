"""A trainer of a tiny model, for whoever asks."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from regard.build import build_trainer, create_run
from regard.train.trainer import Trainer
from tests.little_corpus import little_run, write_corpus
from tests.train.recording import MakeTrainer, Recorder


@pytest.fixture
def make_trainer(tmp_path: Path) -> MakeTrainer:
    """A trainer without dropout, with the given settings; a recorder is its only observer."""
    corpus = write_corpus(tmp_path)

    def make(name: str = "run", **train: Any) -> Trainer:
        config = little_run(corpus, **{"validate_bleu": False, "show": 0, **train})
        model = dataclasses.replace(config.model, d_model=16, d_ff=16, dropout=0.0)
        folder = tmp_path / name
        trainer = build_trainer(create_run(folder, dataclasses.replace(config, model=model)))
        trainer.observers.append(Recorder())
        return trainer

    return make
