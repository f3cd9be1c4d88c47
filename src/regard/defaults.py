"""Good defaults for someone who has two files and no run file."""

import dataclasses
from pathlib import Path

from regard.config import RunConfig
from regard.data.config import DataConfig
from regard.data.holdout import count_pairs
from regard.models.transformer import PRESETS
from regard.text.config import TextConfig
from regard.train.config import TrainConfig

# Corpora below this many pairs get the tiny model, larger ones the small one.
FEW_PAIRS = 200_000
# Below this many, dropout is stronger: such corpora are learned by heart.
VERY_FEW_PAIRS = 50_000
# Short sentences that make up a batch of the default size, roughly.
PAIRS_A_BATCH = 200


def config_for_files(source: Path, target: Path) -> RunConfig:
    """A run for two parallel files, its sizes chosen by counting the pairs.

    The normalisation stands before the sub-layers: such models learn within few steps, however
    fast the rate climbs. A vocabulary of a tenth of the pairs, at most the default; about thirty
    passes over the data; an end when ten validations in a row bring nothing better.
    """
    num_pairs = count_pairs([source, target])
    is_few = num_pairs < FEW_PAIRS
    steps = max(2000, 30 * num_pairs // PAIRS_A_BATCH)
    interval = max(100, steps // 40)
    return RunConfig(
        data=DataConfig(
            train=(str(source), str(target)),
            valid_size=max(1, min(DataConfig.valid_size, num_pairs // 20)),
            source_language=_language(source),
            target_language=_language(target),
        ),
        text=TextConfig(vocab_size=max(500, min(TextConfig.vocab_size, num_pairs // 10))),
        model=dataclasses.replace(
            PRESETS["tiny" if is_few else "small"],
            dropout=0.2 if num_pairs < VERY_FEW_PAIRS else 0.1,
            norm_place="pre",
        ),
        train=TrainConfig(
            steps=steps,
            warmup=min(2000, steps // 10),
            learning_rate=3e-3 if is_few else 1e-3,
            validate_every=interval,
            save_every=interval,
            patience=10,
        ),
    )


def _language(path: Path) -> str:
    """The language a file's name ends in, as in train.fr or train.fr.gz; empty without one."""
    suffix = Path(path.name.removesuffix(".gz")).suffix.removeprefix(".")
    return suffix if suffix != "txt" else ""
