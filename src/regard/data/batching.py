"""Batches of a token budget, in an order that is a pure function of seed and epoch."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64

from regard.data.store import Lines, Rows, Store
from regard.errors import ConfigError
from regard.text.pair import TokeniserPair
from regard.text.tokeniser import Tokeniser

# Examples that are sorted by length together, at least (and less than twice as many): enough
# that neighbours are alike and padding is rare; not all, so that sampled ids fit into memory.
POOL = 100_000
# Examples sampled at once; ids in Python's own lists take ten times the room.
CHUNK = 10_000

# What a stream of random numbers is for; part of its seed.
_ORDER, _SHUFFLE, _SAMPLE = range(3)


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded ids of B examples, ready for teacher forcing.

    Attributes:
        source: pieces, then </s>.
        source_mask: True where a token is real.
        target_in: <s>, then pieces: what the decoder is given.
        target_out: pieces, then </s>: what it should say.
        target_mask: True where a target token is real.
        indices: which examples of the store these are.
    """

    source: Int64[np.ndarray, "B S"]
    source_mask: Bool[np.ndarray, "B S"]
    target_in: Int64[np.ndarray, "B T"]
    target_out: Int64[np.ndarray, "B T"]
    target_mask: Bool[np.ndarray, "B T"]
    indices: Int64[np.ndarray, " B"]

    def rows(self, begin: int, end: int) -> "Batch":
        """The examples from `begin` to before `end` alone."""
        return Batch(
            self.source[begin:end],
            self.source_mask[begin:end],
            self.target_in[begin:end],
            self.target_out[begin:end],
            self.target_mask[begin:end],
            self.indices[begin:end],
        )


class Batches:
    """The examples of a store as batches, each example once in an epoch.

        permutation → pools → sorted by length inside a pool → cut by budget → batches shuffled

    A batch of n examples satisfies n · max(S, T) ≤ batch_tokens, S and T being its padded
    lengths; an example that is longer alone makes a batch alone. Where the tokenisers sample,
    each pool is cut into pieces anew, from a seed of its own.
    """

    def __init__(
        self,
        store: Store,
        tokenisers: TokeniserPair,
        *,
        batch_tokens: int,
        seed: int,
        max_length: int | None = None,
    ) -> None:
        """Choose the examples that take part.

        Args:
            store: ids, and text if the tokenisers sample.
            tokenisers: those the store was built with.
            batch_tokens: the budget, <s> or </s> counted.
            seed: of everything random here.
            max_length: the most pieces, without <s> and </s>, on either side; longer examples
                are left out. A sampled cut that is longer gives way to the usual one.

        Raises:
            ConfigError: if no example is left.
        """
        assert tokenisers.sampling == 0 or store.source_text is not None
        self._store = store
        self._tokenisers = tokenisers
        self._batch_tokens = batch_tokens
        self._seed = seed
        self._max_length = max_length
        self._kept = np.arange(len(store))
        if max_length is not None:
            source = store.source.lengths(self._kept)
            target = store.target.lengths(self._kept)
            self._kept = np.flatnonzero(np.maximum(source, target) <= max_length)
        if len(self._kept) == 0:
            raise ConfigError(
                f"no example is left of {len(store):,}: all are longer than max_length = "
                f"{max_length:,}; raise it"
                if max_length is not None and len(store)
                else "the corpus has no example; give one with at least one pair"
            )

    @property
    def num_examples(self) -> int:
        """How many examples an epoch holds."""
        return len(self._kept)

    @property
    def num_left_out(self) -> int:
        """How many examples are longer than `max_length`."""
        return len(self._store) - len(self._kept)

    def epoch(self, epoch: int, start: int = 0) -> Iterator[Batch]:
        """The batches of an epoch from number `start` on.

        Skipped batches are planned but not made. Where the tokenisers sample, a plan needs the
        lengths of the sampled pieces, so skipped pools are encoded again.
        """
        skip = start
        for number, pool in enumerate(self._pools(epoch)):
            source, target, rows = self._cut(epoch, number, pool)
            plan = self._plan(epoch, number, source.lengths(rows), target.lengths(rows))
            for batch in plan[skip:]:
                yield self._batch(source, target, rows=rows[batch], indices=pool[batch])
            skip = max(0, skip - len(plan))

    def num_batches(self, epoch: int) -> int:
        """How many batches an epoch has; it differs a little between epochs."""
        total = 0
        for number, pool in enumerate(self._pools(epoch)):
            source, target, rows = self._cut(epoch, number, pool)
            total += len(self._plan(epoch, number, source.lengths(rows), target.lengths(rows)))
        return total

    def in_order(self) -> Iterator[Batch]:
        """All examples by length, nothing random, nothing sampled: for validation."""
        source, target = self._store.source, self._store.target
        for batch in self._by_budget(source.lengths(self._kept), target.lengths(self._kept)):
            indices = self._kept[batch]
            yield self._batch(source, target, rows=indices, indices=indices)

    def _pools(self, epoch: int) -> list[Int64[np.ndarray, " _"]]:
        order = self._random(epoch, 0, _ORDER).permutation(self._kept)
        return np.array_split(order, max(1, len(order) // POOL))

    def _cut(
        self, epoch: int, number: int, pool: Int64[np.ndarray, " pool"]
    ) -> tuple[Rows, Rows, Int64[np.ndarray, " pool"]]:
        """The ids of both sides, and the rows in them that are the pool's."""
        if self._tokenisers.sampling == 0:
            return self._store.source, self._store.target, pool
        stored, text = self._store, (self._store.source_text, self._store.target_text)
        assert text[0] is not None
        assert text[1] is not None
        random = self._random(epoch, number, _SAMPLE)
        source = self._sample(self._tokenisers.source, text[0], stored.source, pool, random)
        target = self._sample(self._tokenisers.target, text[1], stored.target, pool, random)
        return source, target, np.arange(len(pool))

    def _sample(
        self,
        tokeniser: Tokeniser,
        lines: Lines,
        usual: Rows,
        pool: Int64[np.ndarray, " pool"],
        random: np.random.Generator,
    ) -> Rows:
        parts: list[Rows] = []
        for start in range(0, len(pool), CHUNK):
            chunk = pool[start : start + CHUNK].tolist()
            seed = int(random.integers(2**31))
            sampled = tokeniser.sample_ids([lines[i] for i in chunk], seed=seed)
            if self._max_length is not None:
                for row, i in enumerate(chunk):
                    if len(sampled[row]) > self._max_length:
                        sampled[row] = usual[i].tolist()
            parts.append(Rows.of(sampled))
        return Rows.joined(parts)

    def _plan(
        self,
        epoch: int,
        number: int,
        source: Int64[np.ndarray, " pool"],
        target: Int64[np.ndarray, " pool"],
    ) -> list[Int64[np.ndarray, " _"]]:
        """The batches of a pool with the given lengths, as positions in it."""
        batches = self._by_budget(source, target)
        shuffle = self._random(epoch, number, _SHUFFLE).permutation(len(batches))
        return [batches[i] for i in shuffle.tolist()]

    def _by_budget(
        self, source: Int64[np.ndarray, " pool"], target: Int64[np.ndarray, " pool"]
    ) -> list[Int64[np.ndarray, " _"]]:
        """Positions of the given lengths, sorted and cut into batches."""
        order = _by_length(source, target)
        tokens = np.maximum(source, target)[order] + 1  # <s> or </s>
        batches = []
        start = 0
        while start < len(order):
            # Lengths only grow from here, so the first bounds how many can follow, and the
            # last of a batch is its padded length.
            most = max(1, self._batch_tokens // int(tokens[start]))
            padded = tokens[start : start + most]
            padded = padded * np.arange(1, len(padded) + 1)
            size = max(1, int(np.searchsorted(padded, self._batch_tokens, side="right")))
            batches.append(order[start : start + size])
            start += size
        return batches

    def _batch(
        self,
        source: Rows,
        target: Rows,
        *,
        rows: Int64[np.ndarray, " B"],
        indices: Int64[np.ndarray, " B"],
    ) -> Batch:
        source_ids, source_mask = _padded(source, rows, self._tokenisers.source)
        target_out, target_mask = _padded(target, rows, self._tokenisers.target)
        target_in = np.empty_like(target_out)
        target_in[:, 0] = self._tokenisers.target.bos
        # One step behind target_out, without the </s> that the longest rows end in.
        target_in[:, 1:] = np.where(target_mask[:, 1:], target_out[:, :-1], Tokeniser.pad)
        return Batch(source_ids, source_mask, target_in, target_out, target_mask, indices)

    def _random(self, epoch: int, pool: int, purpose: int) -> np.random.Generator:
        stream = np.random.SeedSequence(self._seed, spawn_key=(epoch, pool, purpose))
        return np.random.default_rng(stream)


def _by_length(
    source: Int64[np.ndarray, " pool"], target: Int64[np.ndarray, " pool"]
) -> Int64[np.ndarray, " pool"]:
    """Positions sorted by the longer side and, inside one length, by the difference of the two.

    The budget counts the longer side. The difference runs up and down in turn, which keeps
    neighbours alike where the length grows by one: without the turns a batch there would hold
    the longest sources beside the shortest. Equals keep the order they came in.
    """
    longer, difference = np.maximum(source, target), target - source
    return np.lexsort((np.where(longer % 2 == 0, difference, -difference), longer))


def _padded(
    rows: Rows, chosen: Int64[np.ndarray, " B"], tokeniser: Tokeniser
) -> tuple[Int64[np.ndarray, "B S"], Bool[np.ndarray, "B S"]]:
    """The chosen rows, each followed by </s> and padded, without a loop over them."""
    starts, lengths = rows.offsets[chosen], rows.lengths(chosen)
    columns = np.arange(lengths.max() + 1)
    ids = np.full((len(chosen), len(columns)), tokeniser.pad, np.int64)
    before = np.cumsum(lengths) - lengths
    positions = np.repeat(starts - before, lengths) + np.arange(lengths.sum())
    ids[columns < lengths[:, None]] = rows.flat[positions]
    ids[np.arange(len(chosen)), lengths] = tokeniser.eos
    return ids, columns <= lengths[:, None]
