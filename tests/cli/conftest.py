"""A run folder as `regard train` leaves it, with a tiny model that has learned nothing."""

import random
from pathlib import Path

import pytest
import torch

from regard.build import build_model, create_run
from regard.config import RunConfig
from regard.data.config import DataConfig
from regard.decoding.config import DecodingConfig
from regard.models.transformer import TransformerConfig
from regard.text.config import TextConfig
from regard.train.checkpoint import model_tensors, save_checkpoint, save_weights
from regard.train.config import TrainConfig
from regard.train.optimiser import build_optimiser
from regard.train.progress import Progress, Scores

FRENCH = "Jane visite l'Afrique en septembre le chat était assis sur un tapis"
ENGLISH = "Jane visits Africa in September the cat sat on a mat"


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two layers of three heads each side, BPE of 300 pieces; best-20, averaged-40, step-40."""
    place = tmp_path_factory.mktemp("tiny")
    chosen = random.Random(0)
    for language, vocabulary in (("fr", FRENCH), ("en", ENGLISH)):
        lines = [f"{' '.join(chosen.choices(vocabulary.split(), k=6))}.\n" for _ in range(100)]
        (place / f"train.{language}").write_text("".join(lines), "utf-8")
    config = RunConfig(
        data=DataConfig(
            train=(str(place / "train.fr"), str(place / "train.en")),
            valid_size=10,
            source_language="fr",
            target_language="en",
        ),
        text=TextConfig(vocab_size=300),
        model=TransformerConfig(d_model=24, heads=3, d_ff=32, encoder_layers=2, decoder_layers=2),
        train=TrainConfig(steps=50),
        # What has learned nothing never ends a sentence by itself.
        decoding=DecodingConfig(max_ratio=0.0, max_extra=6),
    )
    run = create_run(place / "run", config)
    torch.manual_seed(0)
    model = build_model(config.model, run.tokenisers)
    tensors = model_tensors(model)
    save_weights(run.folder / "best-20", tensors, Scores(20, 3.25, 12.5))
    save_weights(run.folder / "averaged-40", tensors, Scores(40, 3.125, 13.5))
    progress = Progress(step=40, epoch=3, tokens=12345, seconds=600.0)
    save_checkpoint(run.folder, model, build_optimiser(model, config.train), progress)
    return run.folder
