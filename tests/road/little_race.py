"""A race on a corpus of a few hundred sentences."""

import io
from pathlib import Path
from typing import Any

from rich.console import Console

from regard.road.corpus import RaceCorpus
from regard.road.race import Budget, Race
from regard.train.console import ConsoleObserver
from tests.little_corpus import sentences

SETTINGS: dict[str, dict[str, Any]] = {
    "text": {"vocab_size": 340},
    "train": {
        "batch_tokens": 400,
        "ema": 0.9,
        "validate_every": 2,
        "save_every": 2,
        "keep": 2,
        "average": 2,
    },
    "decoding": {"beam": 2},
}


def little_race(folder: Path, budget: Budget = Budget(minutes=1e-6), out: str = "road") -> Race:  # noqa: B008
    """A race whose trainings end after a step."""
    corpus = folder / "corpus"
    if not corpus.exists():
        corpus.mkdir()
        pairs = sentences()
        for name, chosen in (("train", pairs), ("valid", pairs[:8]), ("test", pairs[20:36])):
            for side, language in enumerate(("fr", "en")):
                text = "".join(f"{pair[side]}\n" for pair in chosen)
                (corpus / f"{name}.{language}").write_text(text, "utf-8")
    console = Console(file=io.StringIO())
    return Race(
        RaceCorpus.of(corpus, "fr-en"),
        folder / out,
        budget,
        SETTINGS,
        "Jane visite la gare.",
        lambda trainer: ConsoleObserver(console, trainer.config, trainer.progress),
    )
