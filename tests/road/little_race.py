"""A race on a corpus of a few hundred sentences."""

import io
from pathlib import Path
from typing import Any

from rich.console import Console

from regard.road.corpus import RaceCorpus
from regard.road.race import Race
from regard.road.terms import Budget
from regard.road.track import Track
from regard.train.console import ConsoleObserver
from regard.train.trainer import Trainer
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
A_STEP = Budget(minutes=1e-6)


def little_corpus(folder: Path) -> RaceCorpus:
    """The few hundred sentences in three splits."""
    corpus = folder / "corpus"
    if not corpus.exists():
        corpus.mkdir()
        pairs = sentences()
        for name, chosen in (("train", pairs), ("valid", pairs[:8]), ("test", pairs[20:36])):
            for side, language in enumerate(("fr", "en")):
                text = "".join(f"{pair[side]}\n" for pair in chosen)
                (corpus / f"{name}.{language}").write_text(text, "utf-8")
    return RaceCorpus.of(corpus, "fr-en")


def unseen(trainer: Trainer) -> ConsoleObserver:
    """A display in front of nobody."""
    return ConsoleObserver(Console(file=io.StringIO()), trainer.config, trainer.progress)


def little_race(folder: Path, budget: Budget = A_STEP, out: str = "road") -> Race:
    """A race whose trainings end after a step."""
    return Race(
        little_corpus(folder), folder / out, budget, SETTINGS, "Jane visite la gare.", unseen
    )


def little_track(folder: Path, corpus: RaceCorpus | None, *names: str) -> Track:
    """An experiment whose trainings end after a step, and whose translations are short."""
    return Track(
        out=folder,
        corpus=corpus,
        size=2400,
        names=names,
        budget=A_STEP,
        settings={**SETTINGS, "decoding": {"beam": 2, "max_ratio": 0.3, "max_extra": 3}},
        sentence=None,
        display=unseen,
        announce=lambda title: None,
        warn=lambda line: None,
    )
