"""The pieces of examples as one epoch reads them: as stored, or noisy and cut anew."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from random import Random

import numpy as np
from jaxtyping import Int64

from regard.data.corpus import Example
from regard.data.names import renamed
from regard.data.noise import noisy
from regard.data.store import Lines, Rows, Store
from regard.text.pair import TokeniserPair
from regard.text.tokeniser import Tokeniser

# Examples cut at once; ids in Python's own lists take ten times the room.
CHUNK = 10_000


@dataclass(frozen=True, slots=True)
class Cuts:
    """The ids of some examples.

    Attributes:
        source: rows of ids, those of the examples' sources among them.
        target: the same for their targets.
        rows: which rows of both are the examples', in order.
        noisy: those rows that say something else than the store's text.
    """

    source: Rows
    target: Rows
    rows: Int64[np.ndarray, " examples"]
    noisy: Set[int] = frozenset()


@dataclass(frozen=True, slots=True)
class _Noisy:
    """A noisy text, and its usual ids."""

    text: str
    ids: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutter:
    """Gives the ids of examples: other ones each time if there is noise or the tokenisers sample.

    Attributes:
        store: ids, and text if they are to change.
        tokenisers: those the store was built with.
        noise: the probability that an example is noisy.
        names: the probability that a name or number of an example becomes another.
        max_length: the most ids on either side, if that is bounded. Noise that makes a side
            longer is left out; a sampled cut that is longer gives way to the usual one.
    """

    store: Store
    tokenisers: TokeniserPair
    noise: float = 0.0
    names: float = 0.0
    max_length: int | None = None

    def __post_init__(self) -> None:
        assert not self._is_changing or self.store.source_text is not None, "a store without text"

    @property
    def _is_changing(self) -> bool:
        return self.noise > 0 or self.names > 0 or self.tokenisers.sampling > 0

    def __call__(
        self,
        examples: Int64[np.ndarray, " examples"],
        *,
        noise: np.random.Generator,
        sampling: np.random.Generator,
    ) -> Cuts:
        """The ids of these examples; all that is random comes from the two generators."""
        store, tokenisers = self.store, self.tokenisers
        if not self._is_changing:
            return Cuts(store.source, store.target, examples)
        sources, targets = self._spoil(examples, noise)
        lines, ids = store.source_text, store.source
        source = self._cut(tokenisers.source, lines, ids, examples, sources, sampling)
        lines, ids = store.target_text, store.target
        target = self._cut(tokenisers.target, lines, ids, examples, targets, sampling)
        return Cuts(source, target, np.arange(len(examples)), sources.keys())

    def _spoil(
        self, examples: Int64[np.ndarray, " examples"], random: np.random.Generator
    ) -> tuple[dict[int, _Noisy], dict[int, _Noisy]]:
        """The noisy and renamed sources and targets, by their place among the examples."""
        is_noisy = random.random(len(examples)) < self.noise
        dice = Random(int(random.integers(2**63)))
        is_renamed = np.zeros_like(is_noisy)
        if self.names > 0:
            is_renamed = random.random(len(examples)) < self.names
        changed: dict[int, Example] = {}
        for i in np.flatnonzero(is_noisy | is_renamed).tolist():
            before = pair = self._pair(examples[i])
            if is_renamed[i]:
                pair = renamed(pair, dice)
            if is_noisy[i]:
                # Joined with what is next in an order that is random already.
                pair = noisy(pair, self._pair(examples[(i + 1) % len(examples)]), dice)
            if pair != before:
                changed[i] = pair
        places, pairs = list(changed), list(changed.values())
        sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
        source_ids = self.tokenisers.source.encode_ids(sources)
        target_ids = self.tokenisers.target.encode_ids(targets)
        kept = [
            n for n in range(len(pairs)) if self._fits(source_ids[n]) and self._fits(target_ids[n])
        ]
        return (
            {places[n]: _Noisy(sources[n], source_ids[n]) for n in kept},
            {places[n]: _Noisy(targets[n], target_ids[n]) for n in kept},
        )

    def _pair(self, example: np.int64) -> Example:
        assert self.store.source_text is not None
        assert self.store.target_text is not None
        return Example(self.store.source_text[int(example)], self.store.target_text[int(example)])

    def _fits(self, ids: list[int]) -> bool:
        return self.max_length is None or len(ids) <= self.max_length

    def _cut(
        self,
        tokeniser: Tokeniser,
        lines: Lines | None,
        stored: Rows,
        examples: Int64[np.ndarray, " examples"],
        spoilt: Mapping[int, _Noisy],
        random: np.random.Generator,
    ) -> Rows:
        """One side of the examples, some of them spoilt."""
        assert lines is not None
        parts: list[Rows] = []
        for start in range(0, len(examples), CHUNK):
            chunk = list(enumerate(examples[start : start + CHUNK].tolist(), start))
            usual = [spoilt[i].ids if i in spoilt else stored[e].tolist() for i, e in chunk]
            if self.tokenisers.sampling > 0:
                seed = int(random.integers(2**31))
                texts = [spoilt[i].text if i in spoilt else lines[e] for i, e in chunk]
                sampled = tokeniser.sample_ids(texts, seed=seed)
                usual = [s if self._fits(s) else u for s, u in zip(sampled, usual, strict=True)]
            parts.append(Rows.of(usual))
        return Rows.joined(parts)
