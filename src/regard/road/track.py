"""What a race or an experiment is given: a folder, a budget, a corpus, who watches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regard.data.corpus import Splits
from regard.errors import DivergedError, ModelFileError
from regard.road.corpus import RaceCorpus
from regard.road.race import Race
from regard.road.result import Result
from regard.road.systems import System, find_systems, with_bases
from regard.road.terms import Budget, Tables
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
        settings: of every learned system's run file, unless its own say otherwise.
        sentence: that every system is shown on; None for the first of the test set.
        display: shows a training.
        announce: is told what begins.
        warn: is told of damaged checkpoints, of another machine, and of who is left out.
        overrides: of every learned system's run file, whatever its own say.
        left_out: the names of those that were, one after the other.
    """

    out: Path
    corpus: RaceCorpus | None
    size: int
    names: Sequence[str]
    budget: Budget
    settings: Tables
    sentence: str | None
    display: Callable[[Trainer], ConsoleObserver]
    announce: Callable[[str], None]
    warn: Callable[[str], None]
    overrides: Tables = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def systems(self, own: Sequence[str] = ()) -> list[System]:
        """Those asked for, or else an experiment's own, or else all; and what they start from."""
        return with_bases(find_systems(self.names or own))

    def race_on(self, make: Callable[..., Splits]) -> Race:
        """A race on the corpus given, or on a generated one of French and English.

        Args:
            make: generates it; it is written to a folder of its name.

        Raises:
            ConfigError: the folder holds another race.
        """
        corpus = self.corpus or RaceCorpus(self.out / make.__name__, "fr", "en", self.size)
        race = self.race(corpus)
        # What is there must be this race's before it is taken for its corpus.
        race.hold()
        if self.corpus is None:
            corpus.write(lambda: make(size=self.size))
        return race

    def race(
        self, corpus: RaceCorpus, folder: str = "", tokenisers: TokeniserPair | None = None
    ) -> Race:
        """A race in a folder of this one."""
        return Race(
            corpus,
            self.out / folder,
            self.budget,
            self.settings,
            self.sentence,
            self.display,
            tokenisers,
            self.warn,
            self.overrides,
        )

    def enter(self, race: Race, system: System, where: str = "") -> Result:
        """Train and measure a system, and say so first.

        Raises:
            DivergedError: its loss is no longer a number.
            ModelFileError: weights that it starts from are missing.
            Stopped: a signal came.
        """
        self.announce(f"{system.title}{where}")
        return race.enter(system)

    def attempt(self, race: Race, system: System, where: str = "") -> Result | None:
        """The same, but None if the system has to be left out, and the reason said.

        Raises:
            Stopped: a signal came.
        """
        try:
            return self.enter(race, system, where)
        except (DivergedError, ModelFileError) as error:
            self.leave_out(system.name, error)
            return None

    def leave_out(self, name: str, reason: Exception) -> None:
        """Go on without a system, and say why."""
        self.left_out.append(name)
        self.warn(f"{name} is left out: {reason}")
