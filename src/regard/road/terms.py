"""What a race is on: a folder holds one race, and refuses the results of another."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from regard.errors import ConfigError
from regard.machine import gemm_gflops
from regard.road.result import RESULT, RESULTS, read_kept, write_kept

RACE = "race.json"
RUN = "run"
TOKENISER = "tokeniser"
# What only a race leaves in its folder.
TRACES = (RESULTS, TOKENISER, f"*/{RESULT}", f"*/{RUN}")
SHOWN_CHARACTERS = 12


@dataclass(frozen=True, slots=True)
class Budget:
    """What each system may spend: minutes of training, or operations by formula."""

    minutes: float = 0.0
    flops: float = 0.0

    def share(self, part: float) -> "Budget":
        """A part of it."""
        return Budget(self.minutes * part, self.flops * part)


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What every system of a race is given.

    Attributes:
        task: the corpus and its languages, for people.
        corpus: SHA-256 of each file, or the generator and how many pairs it was asked for.
        pair: source and target language.
        budget: what each system may spend.
        settings: of every learned system's run file.
        sentence: that every system is shown on; None for the first of the test set.
        gflops: billions of operations a second that the machine sustains, measured before the
            first system; 0 as long as that is not known.
    """

    task: str
    corpus: dict[str, str | int]
    pair: str
    budget: Budget
    settings: dict[str, dict[str, Any]]
    sentence: str | None
    gflops: float = 0.0


def agree(folder: Path, terms: Terms) -> Terms:
    """Let a folder hold a race on these terms and no other; return them as it keeps them.

    Which systems take part is not among them: more can be entered later.

    Raises:
        ConfigError: it holds a race on other terms, or one that does not say on which.
    """
    path = folder / RACE
    if path.exists():
        kept = read_kept(path, Terms, "remove the folder, or give another --out")
        for name, here, there in _differences(terms, kept):
            raise ConfigError(
                f"{folder} is a race on {kept.task}, where {name} is {there}, here {here}; "
                "give another --out"
            )
        return kept
    if any(next(folder.glob(trace), None) for trace in TRACES):
        raise ConfigError(
            f"{folder} is a race, but has no {RACE} that says what on; give another --out"
        )
    agreed = replace(terms, gflops=gemm_gflops(seconds=1.0))
    folder.mkdir(parents=True, exist_ok=True)
    write_kept(path, asdict(agreed))
    return agreed


def _differences(terms: Terms, kept: Terms) -> Iterator[tuple[str, str, str]]:
    """The name of what differs, its value in the one and in the other."""
    here, there = (dict(_flat(asdict(each))) for each in (terms, kept))
    for name in dict.fromkeys([*there, *here]):
        # A corpus can be moved, and a machine be busier than it was.
        if name not in ("task", "gflops") and here.get(name) != there.get(name):
            yield name, _shown(here.get(name)), _shown(there.get(name))


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of nested tables with their dotted names."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _shown(value: Any) -> str:
    if value is None:
        return "not set"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
