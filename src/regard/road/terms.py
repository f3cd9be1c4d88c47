"""What a race is on: a folder holds one race, and refuses the results of another."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from regard.errors import ConfigError
from regard.machine import gemm_gflops, processor
from regard.native.floats import PackedFloats
from regard.native.kernels import has_float_products
from regard.road.result import RESULT, RESULTS, read_kept, write_kept

Tables = dict[str, dict[str, Any]]
"""Tables of a run file, by name."""

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
        settings: of every learned system's run file, unless its own say otherwise.
        sentence: that every system is shown on; None for the first of the test set.
        overrides: of every learned system's run file, whatever its own say.
        machines: the processors that it has run on, and the billions of operations a second that
            each sustains, measured when the race first came to it.
    """

    task: str
    corpus: dict[str, str | int]
    pair: str
    budget: Budget
    settings: Tables
    sentence: str | None
    overrides: Tables = field(default_factory=dict)
    machines: dict[str, float] = field(default_factory=dict)


def agree(folder: Path, terms: Terms) -> Terms:
    """Let a folder hold a race on these terms and no other; return them as it keeps them.

    Which systems take part is not among them: more can be entered later. Nor is the machine: a
    race may move to another one, which is then measured too.

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
        return _measured(path, kept)
    if any(next(folder.glob(trace), None) for trace in TRACES):
        raise ConfigError(
            f"{folder} is a race, but has no {RACE} that says what on; give another --out"
        )
    folder.mkdir(parents=True, exist_ok=True)
    return _measured(path, terms)


def _measured(path: Path, terms: Terms) -> Terms:
    """The terms with this machine among them, measured and kept if it was not."""
    if processor() in terms.machines:
        return terms
    machines = {**terms.machines, processor(): sustained_gflops()}
    measured = replace(terms, machines=machines)
    write_kept(path, asdict(measured))
    return measured


def sustained_gflops() -> float:
    """Billions of operations a second of the fastest large product that a training has.

    That is PyTorch's or, where there are kernels for the processor, ours.
    """
    found = [gemm_gflops(seconds=1.0)]
    if has_float_products():
        found.append(gemm_gflops(seconds=1.0, prepare=partial(PackedFloats, is_turned=True)))
    return max(found)


def _differences(terms: Terms, kept: Terms) -> Iterator[tuple[str, str, str]]:
    """The name of what differs, its value in the one and in the other."""
    # A corpus can be moved, and so can a race.
    alike = {"task": "", "machines": {}}
    here, there = (dict(_flat(asdict(each) | alike)) for each in (terms, kept))
    for name in dict.fromkeys([*there, *here]):
        if here.get(name) != there.get(name):
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
