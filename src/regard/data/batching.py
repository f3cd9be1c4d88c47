"""Batches of a token budget, in an order that is a pure function of seed and epoch."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Int64, Integer

from regard.data.alignment import piece_alignment
from regard.data.cutting import Cuts, Cutter
from regard.data.store import Rows, Store
from regard.errors import ConfigError
from regard.text.pair import TokeniserPair
from regard.text.tokeniser import Tokeniser

# Examples that are sorted by length together, at least (and less than twice as many): enough
# that neighbours are alike and padding is rare; not all, so that sampled ids fit into memory.
POOL = 100_000

# What a stream of random numbers is for; part of its seed.
_ORDER, _SHUFFLE, _SAMPLE, _NOISE = range(4)


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
        alignment: where each target token comes from, a distribution over the source tokens;
            a row of zeros where that is not known. None if it is of no interest.
    """

    source: Int64[np.ndarray, "B S"]
    source_mask: Bool[np.ndarray, "B S"]
    target_in: Int64[np.ndarray, "B T"]
    target_out: Int64[np.ndarray, "B T"]
    target_mask: Bool[np.ndarray, "B T"]
    indices: Int64[np.ndarray, " B"]
    alignment: Float32[np.ndarray, "B T S"] | None = None

    def only(self, rows: Int64[np.ndarray, " _"]) -> "Batch":
        """These examples alone, without the padding that none of them needs."""
        source_mask, target_mask = self.source_mask[rows], self.target_mask[rows]
        source, target = _num_columns(source_mask), _num_columns(target_mask)
        alignment = None if self.alignment is None else self.alignment[rows, :target, :source]
        return Batch(
            self.source[rows, :source],
            source_mask[:, :source],
            self.target_in[rows, :target],
            self.target_out[rows, :target],
            target_mask[:, :target],
            self.indices[rows],
            alignment,
        )


def _num_columns(mask: Bool[np.ndarray, "B S"]) -> int:
    """How many columns there are up to the last one that someone needs."""
    return int(np.flatnonzero(mask.any(0)).max(initial=-1)) + 1


class Batches:
    """The examples of a store as batches, each example once in an epoch.

        permutation → pools → sorted by length inside a pool → cut by budget → batches shuffled

    A batch of n examples satisfies n · max(S, T) ≤ batch_tokens, S and T being its padded
    lengths; an example that is longer alone makes a batch alone. Where the tokenisers sample,
    or noise or names change the text, each pool is cut into pieces anew, from seeds of its own.
    """

    def __init__(
        self,
        store: Store,
        tokenisers: TokeniserPair,
        *,
        batch_tokens: int,
        seed: int,
        max_length: int | None = None,
        noise: float = 0.0,
        names: float = 0.0,
    ) -> None:
        """Choose the examples that take part.

        Args:
            store: ids, and text if the tokenisers sample or text is changed. If it has links,
                batches say which tokens belong together, noisy examples apart.
            tokenisers: those the store was built with.
            batch_tokens: the budget, <s> or </s> counted.
            seed: of everything random here.
            max_length: the most pieces, without <s> and </s>, on either side; longer examples
                are left out.
            noise: the probability that an example is noisy in an epoch (`regard.data.noise`).
            names: the probability that one gets another name or number (`regard.data.names`).

        Raises:
            ConfigError: if no example is left.
        """
        self._store = store
        self._tokenisers = tokenisers
        self._batch_tokens = batch_tokens
        self._seed = seed
        self._cutter = Cutter(
            store=store, tokenisers=tokenisers, noise=noise, names=names, max_length=max_length
        )
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

        Skipped batches are planned but not made. Where pieces are cut anew, a plan needs their
        lengths, so skipped pools are cut again.
        """
        skip = start
        for number, pool in enumerate(self._pools(epoch)):
            cuts = self._cut(epoch, number, pool)
            plan = self._plan(epoch, number, cuts)
            for batch in plan[skip:]:
                yield self._batch(cuts, cuts.rows[batch], pool[batch])
            skip = max(0, skip - len(plan))

    def num_batches(self, epoch: int) -> int:
        """How many batches an epoch has; it differs a little between epochs."""
        pools = enumerate(self._pools(epoch))
        return sum(len(self._plan(epoch, n, self._cut(epoch, n, pool))) for n, pool in pools)

    def in_order(self) -> Iterator[Batch]:
        """All examples by length, nothing random, nothing sampled: for validation."""
        stored = Cuts(self._store.source, self._store.target, self._kept)
        for batch in self._by_budget(stored):
            yield self._batch(stored, self._kept[batch], self._kept[batch])

    def _pools(self, epoch: int) -> list[Int64[np.ndarray, " _"]]:
        order = self._random(epoch, 0, _ORDER).permutation(self._kept)
        return np.array_split(order, max(1, len(order) // POOL))

    def _cut(self, epoch: int, number: int, pool: Int64[np.ndarray, " pool"]) -> Cuts:
        return self._cutter(
            pool,
            noise=self._random(epoch, number, _NOISE),
            sampling=self._random(epoch, number, _SAMPLE),
        )

    def _plan(self, epoch: int, number: int, cuts: Cuts) -> list[Int64[np.ndarray, " _"]]:
        """The batches of a pool, as positions in it."""
        batches = self._by_budget(cuts)
        shuffle = self._random(epoch, number, _SHUFFLE).permutation(len(batches))
        return [batches[i] for i in shuffle.tolist()]

    def _by_budget(self, cuts: Cuts) -> list[Int64[np.ndarray, " _"]]:
        """Positions sorted by the lengths there and cut into batches."""
        source, target = cuts.source.lengths(cuts.rows), cuts.target.lengths(cuts.rows)
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
        self, cuts: Cuts, rows: Int64[np.ndarray, " B"], indices: Int64[np.ndarray, " B"]
    ) -> Batch:
        source_ids, source_mask = _padded(cuts.source, rows, self._tokenisers.source)
        target_out, target_mask = _padded(cuts.target, rows, self._tokenisers.target)
        target_in = np.empty_like(target_out)
        target_in[:, 0] = self._tokenisers.target.bos
        # One step behind target_out, without the </s> that the longest rows end in.
        target_in[:, 1:] = np.where(target_mask[:, 1:], target_out[:, :-1], Tokeniser.pad)
        alignment = None
        if self._store.links is not None:
            alignment = np.zeros((*target_out.shape, source_ids.shape[1]), np.float32)
            for place, (row, example) in enumerate(
                zip(rows.tolist(), indices.tolist(), strict=True)
            ):
                if row not in cuts.noisy:
                    one = self._align(example, cuts.source[row], cuts.target[row])
                    alignment[place, : one.shape[0], : one.shape[1]] = one
        return Batch(
            source_ids, source_mask, target_in, target_out, target_mask, indices, alignment
        )

    def _align(
        self,
        example: int,
        source: Integer[np.ndarray, " S"],
        target: Integer[np.ndarray, " T"],
    ) -> Float32[np.ndarray, "T S"]:
        """The links of an example between the pieces that its text is cut into here."""
        store, tokenisers = self._store, self._tokenisers
        assert store.links is not None
        assert store.source_text is not None
        assert store.target_text is not None
        return piece_alignment(
            store.links[example].reshape(-1, 2),
            tokenisers.source.locate(store.source_text[example], source.tolist()),
            tokenisers.target.locate(store.target_text[example], target.tolist()),
        )

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
