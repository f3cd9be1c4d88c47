import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import batching, cutting
from regard.data.batching import Batch, Batches
from regard.data.corpus import Example
from regard.data.store import Rows, Store
from regard.errors import ConfigError
from regard.text.byte import Bytes
from regard.text.pair import TokeniserPair
from regard.text.sentencepieces import SentencePieces

PAIR = TokeniserPair(Bytes(), Bytes())
LENGTHS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=60)


def store_of(lengths: list[tuple[int, int]]) -> Store:
    """A store whose ids all differ, so that a batch shows where each came from."""
    total = iter(range(4, 10**9))
    source = [[next(total) for _ in range(n)] for n, _ in lengths]
    target = [[next(total) for _ in range(n)] for _, n in lengths]
    return Store(Rows.of(source), Rows.of(target))


def random_store(num: int, seed: int = 0) -> Store:
    """Lengths as in a parallel corpus: log-normal, and the two sides alike but not equal."""
    random = np.random.default_rng(seed)
    source = np.clip(np.exp(random.normal(2.9, 0.55, num)), 1, 200).astype(int)
    target = np.clip(source * random.normal(1.1, 0.18, num) + 1, 1, 220).astype(int)

    def rows(lengths: np.ndarray) -> Rows:
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return Rows(random.integers(4, 8000, offsets[-1]), offsets)

    return Store(rows(source), rows(target))


def contents(batches: list[Batch]) -> list[list[object]]:
    return [[b.indices.tolist(), b.source.tolist(), b.target_out.tolist()] for b in batches]


@pytest.fixture
def small_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "POOL", 40)


def padding(batches: list[Batch]) -> float:
    real = sum(int(b.source_mask.sum() + b.target_mask.sum()) for b in batches)
    return 1 - real / sum(b.source_mask.size + b.target_mask.size for b in batches)


@given(LENGTHS, st.integers(1, 100), st.integers(0, 2**40), st.integers(0, 9))
def test_every_example_comes_once_in_an_epoch(
    lengths: list[tuple[int, int]], budget: int, seed: int, epoch: int
) -> None:
    batches = Batches(store_of(lengths), PAIR, batch_tokens=budget, seed=seed)
    seen = [i for batch in batches.epoch(epoch) for i in batch.indices.tolist()]
    assert sorted(seen) == list(range(len(lengths)))


@given(LENGTHS, st.integers(1, 100))
def test_a_batch_keeps_to_the_budget_or_holds_one_example(
    lengths: list[tuple[int, int]], budget: int
) -> None:
    batches = Batches(store_of(lengths), PAIR, batch_tokens=budget, seed=0)
    for batch in [*batches.epoch(0), *batches.in_order()]:
        assert max(batch.source.size, batch.target_in.size) <= budget or len(batch.indices) == 1


@given(LENGTHS, st.integers(1, 100))
def test_the_real_tokens_of_a_batch_are_the_store_s_rows(
    lengths: list[tuple[int, int]], budget: int
) -> None:
    store = store_of(lengths)
    for batch in Batches(store, PAIR, batch_tokens=budget, seed=0).epoch(0):
        for row, i in enumerate(batch.indices.tolist()):
            source, target = store.source[i].tolist(), store.target[i].tolist()
            is_source, is_target = batch.source_mask[row], batch.target_mask[row]
            assert batch.source[row][is_source].tolist() == [*source, Bytes.eos]
            assert batch.target_in[row][is_target].tolist() == [Bytes.bos, *target]
            assert batch.target_out[row][is_target].tolist() == [*target, Bytes.eos]


@given(LENGTHS, st.integers(1, 100))
def test_everything_behind_the_real_tokens_is_padding(
    lengths: list[tuple[int, int]], budget: int
) -> None:
    for batch in Batches(store_of(lengths), PAIR, batch_tokens=budget, seed=0).epoch(0):
        sides = [(batch.source, batch.source_mask)]
        sides += [(batch.target_in, batch.target_mask), (batch.target_out, batch.target_mask)]
        for ids, mask in sides:
            assert (ids[~mask] == Bytes.pad).all()
            assert (np.sort(~mask, axis=1) == ~mask).all()
            assert mask.any(axis=0).all()


@given(LENGTHS, st.integers(1, 100), st.integers(0, 80))
@settings(max_examples=50)
def test_an_epoch_goes_on_from_any_batch(
    lengths: list[tuple[int, int]], budget: int, start: int
) -> None:
    batches = Batches(store_of(lengths), PAIR, batch_tokens=budget, seed=1)
    assert contents(list(batches.epoch(2, start))) == contents(list(batches.epoch(2)))[start:]


@pytest.mark.usefixtures("small_pools")
def test_an_epoch_of_many_pools_goes_on_from_any_batch() -> None:
    batches = Batches(random_store(300), PAIR, batch_tokens=200, seed=1)
    whole = contents(list(batches.epoch(0)))
    assert all(contents(list(batches.epoch(0, i))) == whole[i:] for i in range(len(whole) + 2))


@pytest.mark.usefixtures("small_pools")
def test_an_epoch_of_many_pools_holds_every_example_once() -> None:
    batches = Batches(random_store(301), PAIR, batch_tokens=200, seed=1)
    seen = np.concatenate([batch.indices for batch in batches.epoch(3)])
    assert sorted(seen.tolist()) == list(range(301))


@pytest.mark.usefixtures("small_pools")
def test_the_number_of_batches_is_known_beforehand() -> None:
    batches = Batches(random_store(300), PAIR, batch_tokens=200, seed=1)
    assert [batches.num_batches(e) for e in range(3)] == [
        len(list(batches.epoch(e))) for e in range(3)
    ]


def test_the_order_is_a_function_of_seed_and_epoch() -> None:
    store = random_store(500)
    orders = {}
    for seed in (0, 1):
        for epoch in (0, 1):
            first, second = (
                contents(list(Batches(store, PAIR, batch_tokens=300, seed=seed).epoch(epoch)))
                for _ in range(2)
            )
            assert first == second
            orders[seed, epoch] = str(first)
    assert len(set(orders.values())) == 4


def test_batches_of_one_epoch_are_not_in_order_of_length() -> None:
    batches = list(Batches(random_store(2_000), PAIR, batch_tokens=500, seed=0).epoch(0))
    widths = [batch.target_in.shape[1] for batch in batches]
    assert sum(a > b for a, b in pairwise(widths)) > len(widths) / 4


def test_examples_of_one_length_meet_others_in_another_epoch() -> None:
    batches = Batches(store_of([(5, 5)] * 100), PAIR, batch_tokens=30, seed=0)
    first, second = (
        {frozenset(batch.indices.tolist()) for batch in batches.epoch(epoch)} for epoch in (0, 1)
    )
    assert len(first & second) < len(first) / 2


def test_validation_goes_by_length_and_never_changes() -> None:
    batches = Batches(random_store(500), PAIR, batch_tokens=300, seed=0)
    first = list(batches.in_order())
    other = Batches(random_store(500), PAIR, batch_tokens=300, seed=9)
    assert contents(first) == contents(list(other.in_order()))
    widths = [max(batch.source.shape[1], batch.target_in.shape[1]) for batch in first]
    assert widths == sorted(widths)
    assert sorted(np.concatenate([b.indices for b in first]).tolist()) == list(range(500))


def test_examples_beyond_the_longest_length_are_left_out_and_counted() -> None:
    store = store_of([(3, 3), (4, 9), (9, 4), (5, 5)])
    batches = Batches(store, PAIR, batch_tokens=100, seed=0, max_length=5)
    assert batches.num_left_out == 2
    assert batches.num_examples == 2
    for order in (batches.epoch(0), batches.in_order()):
        assert sorted(i for batch in order for i in batch.indices.tolist()) == [0, 3]


@pytest.mark.parametrize(
    ("lengths", "max_length", "message"),
    [
        ([(9, 9)] * 1200, 5, "no example is left of 1,200: all are longer than max_length = 5; "),
        ([], None, "the corpus has no example; "),
        ([], 5, "the corpus has no example; "),
    ],
)
def test_nothing_to_train_on_is_one_line(
    lengths: list[tuple[int, int]], max_length: int | None, message: str
) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        Batches(store_of(lengths), PAIR, batch_tokens=100, seed=0, max_length=max_length)


def test_a_batch_fills_the_budget() -> None:
    batches = Batches(store_of([(4, 3)] * 25), PAIR, batch_tokens=50, seed=0)
    assert sorted(len(batch.indices) for batch in batches.epoch(0)) == [5, 10, 10]


def test_neighbours_in_order_of_length_differ_by_one_token_at_most() -> None:
    grid = [(source, target) for source in range(12) for target in range(12)]
    batches = Batches(store_of(grid), PAIR, batch_tokens=1, seed=0)
    order = [grid[int(batch.indices[0])] for batch in batches.in_order()]
    assert len(order) == len(grid)
    assert all(max(abs(a - c), abs(b - d)) == 1 for (a, b), (c, d) in pairwise(order))


def test_less_than_three_in_a_hundred_tokens_are_padding() -> None:
    batches = Batches(random_store(100_000), PAIR, batch_tokens=4096, seed=0)
    assert padding(list(batches.epoch(0))) < 0.03


def test_the_plan_of_a_large_epoch_takes_no_time_to_speak_of() -> None:
    batches = Batches(random_store(200_000), PAIR, batch_tokens=4096, seed=0)
    start = time.perf_counter()
    batches.num_batches(0)
    assert time.perf_counter() - start < 2


WORDS = "Jane visite l'Afrique en septembre et le chat était assis sur un tapis rouge"


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, TokeniserPair]:
    random = np.random.default_rng(0)
    words = WORDS.split()
    texts = [" ".join(random.choice(words, random.integers(2, 9))) for _ in range(240)]
    joint = SentencePieces.train(texts, "bpe", vocab_size=400, sampling=0.3)
    pair = TokeniserPair(joint, joint)
    examples = [Example(a, b) for a, b in zip(texts[::2], texts[1::2], strict=True)]
    folder: Path = tmp_path_factory.mktemp("store") / "train"
    return Store.build(folder, examples, pair, key="k"), pair


def lines(batches: list[Batch], pair: TokeniserPair) -> dict[int, tuple[str, str]]:
    return {
        int(i): (pair.source.decode(s.tolist()), pair.target.decode(t.tolist()))
        for batch in batches
        for i, s, t in zip(batch.indices, batch.source, batch.target_out, strict=True)
    }


@pytest.mark.usefixtures("small_pools")
def test_the_chunks_of_a_pool_lose_nothing(
    sampled: tuple[Store, TokeniserPair], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "CHUNK", 7)
    store, pair = sampled
    batches = list(Batches(store, pair, batch_tokens=200, seed=0).epoch(0))
    assert store.source_text is not None
    found = {i: source for i, (source, _) in lines(batches, pair).items()}
    assert found == {i: store.source_text[i] for i in range(len(store))}


@pytest.mark.usefixtures("small_pools")
def test_sampled_batches_hold_every_text_once(sampled: tuple[Store, TokeniserPair]) -> None:
    store, pair = sampled
    batches = list(Batches(store, pair, batch_tokens=200, seed=0).epoch(0))
    assert sum(len(batch.indices) for batch in batches) == len(store)
    assert store.source_text is not None
    assert store.target_text is not None
    assert lines(batches, pair) == {
        i: (store.source_text[i], store.target_text[i]) for i in range(len(store))
    }


@pytest.mark.usefixtures("small_pools")
def test_sampled_batches_go_on_from_any_batch(sampled: tuple[Store, TokeniserPair]) -> None:
    batches = Batches(*sampled, batch_tokens=200, seed=0)
    whole = contents(list(batches.epoch(1)))
    assert batches.num_batches(1) == len(whole)
    assert all(contents(list(batches.epoch(1, i))) == whole[i:] for i in (1, 5, len(whole) - 1))


def test_every_epoch_samples_other_pieces(sampled: tuple[Store, TokeniserPair]) -> None:
    store, pair = sampled
    batches = Batches(store, pair, batch_tokens=200, seed=0)
    ids = [
        {
            int(i): row[mask].tolist()
            for batch in batches.epoch(epoch)
            for i, row, mask in zip(batch.indices, batch.source, batch.source_mask, strict=True)
        }
        for epoch in (0, 1)
    ]
    assert sum(ids[0][i] != ids[1][i] for i in ids[0]) > len(store) / 2


def test_sampled_batches_keep_to_the_budget(sampled: tuple[Store, TokeniserPair]) -> None:
    for batch in Batches(*sampled, batch_tokens=200, seed=0).epoch(0):
        assert max(batch.source.size, batch.target_in.size) <= 200


def test_a_sampled_cut_is_never_longer_than_allowed(sampled: tuple[Store, TokeniserPair]) -> None:
    store, pair = sampled
    every = np.arange(len(store))
    longest = int(max(store.source.lengths(every).max(), store.target.lengths(every).max()))
    batches = Batches(store, pair, batch_tokens=200, seed=0, max_length=longest)
    assert batches.num_left_out == 0
    assert max(batch.source.shape[1] for batch in batches.epoch(0)) <= longest + 1
    free = Batches(store, pair, batch_tokens=200, seed=0)
    assert max(batch.source.shape[1] for batch in free.epoch(0)) > longest + 1


def test_validation_never_samples(sampled: tuple[Store, TokeniserPair]) -> None:
    store, pair = sampled
    for batch in Batches(store, pair, batch_tokens=200, seed=0).in_order():
        for i, row, mask in zip(batch.indices, batch.source, batch.source_mask, strict=True):
            assert row[mask].tolist()[:-1] == store.source[int(i)].tolist()
