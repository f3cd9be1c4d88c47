"""A corpus of a few hundred short sentences, and a run on it that takes seconds."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.config import RunConfig
from regard.data.config import DataConfig
from regard.models.transformer import TransformerConfig
from regard.text.config import TextConfig
from regard.train.config import TrainConfig

WHO = [("Jane", "Jane"), ("le chat", "the cat"), ("mon ami", "my friend"), ("elle", "she")]
DOES = [("visite", "visits"), ("voit", "sees"), ("aime", "likes"), ("cherche", "looks for")]
WHAT = [("l'Afrique", "Africa"), ("la gare", "the station"), ("un livre", "a book")]
WHEN = [("en septembre", "in September"), ("demain", "tomorrow"), ("ici", "here"), ("", "")]


def sentences() -> list[tuple[str, str]]:
    """All that can be said, in a fixed order."""
    pairs = []
    for parts in itertools.product(WHO, DOES, WHAT, WHEN):
        source, target = (" ".join(p[side] for p in parts if p[side]) for side in (0, 1))
        pairs.append((f"{source}.", f"{target}."))
    return pairs


def write_corpus(folder: Path) -> tuple[Path, Path]:
    """train.fr and train.en, line by line."""
    paths = folder / "train.fr", folder / "train.en"
    for side, path in enumerate(paths):
        path.write_text("".join(f"{pair[side]}\n" for pair in sentences()), "utf-8")
    return paths


def turned(config: RunConfig) -> RunConfig:
    """The same run in the opposite direction."""
    data = replace(
        config.data,
        train=config.data.train[::-1],
        source_language=config.data.target_language,
        target_language=config.data.source_language,
    )
    return replace(config, data=data)


def little_run(corpus: tuple[Path, Path], **train: Any) -> RunConfig:
    """A small model on that corpus; `train` are fields of `TrainConfig`."""
    settings: dict[str, Any] = {
        "device": "cpu",
        "batch_tokens": 400,
        "learning_rate": 1e-2,
        "warmup": 20,
        "validate_every": 1000,
        "save_every": 1000,
        "show": 1,
    }
    return RunConfig(
        data=DataConfig(
            train=tuple(map(str, corpus)),
            valid_size=12,
            source_language="fr",
            target_language="en",
        ),
        text=TextConfig(vocab_size=340),
        model=TransformerConfig(
            d_model=32, heads=2, d_ff=64, encoder_layers=1, decoder_layers=1, norm_place="pre"
        ),
        train=TrainConfig(**settings | train),
    )
