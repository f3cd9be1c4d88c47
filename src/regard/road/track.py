"""What a race or an experiment is given: a folder, a budget, a corpus, who watches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.data.corpus import Splits
from regard.road.corpus import RaceCorpus
from regard.road.race import Budget, Race
from regard.road.result import Result
from regard.road.systems import System, find_systems
from regard.text.pair import TokeniserPair
from regard.train.console import ConsoleObserver
from regard.train.trainer import Trainer


@dataclass(frozen=True, kw_only=True)
class Track:
    """Where systems race.

    Attributes:
        out: where everything is kept, as a race keeps it.
        corpus: what they learn from; None for a generated one.
        size: of a generated one, in pairs.
        names: of the systems asked for; empty if none is.
        budget: what each training may spend.
        settings: of every learned system's run file.
        sentence: that every system is shown on; None for the first of the test set.
        display: shows a training.
        announce: is told what begins.
    """

    out: Path
    corpus: RaceCorpus | None
    size: int
    names: Sequence[str]
    budget: Budget
    settings: dict[str, dict[str, Any]]
    sentence: str | None
    display: Callable[[Trainer], ConsoleObserver]
    announce: Callable[[str], None]

    def corpus_or(self, make: Callable[..., Splits]) -> RaceCorpus:
        """The corpus given, or a generated one of French and English, written to the folder."""
        if self.corpus is not None:
            return self.corpus
        return RaceCorpus.written(self.out / make.__name__, "fr-en", lambda: make(size=self.size))

    def systems(self, own: Sequence[str] = ()) -> list[System]:
        """Those asked for, or else an experiment's own, or else all."""
        return find_systems(self.names or own)

    def race(
        self, corpus: RaceCorpus, folder: str = "", tokenisers: TokeniserPair | None = None
    ) -> Race:
        """A race in a folder of this one."""
        return Race(
            corpus,
            self.out / folder,
            self.budget,
            self.settings,
            self.sentence or corpus.examples("test")[0].source,
            self.display,
            tokenisers,
        )

    def enter(self, race: Race, system: System, where: str = "") -> Result:
        """Train and measure a system, and say so first.

        Raises:
            Stopped: a signal came.
        """
        self.announce(f"{system.title}{where}")
        return race.enter(system)
