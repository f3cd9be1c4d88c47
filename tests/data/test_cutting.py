"""An epoch's pieces with noise: a function of seed and epoch, and of nothing else."""

from pathlib import Path

import numpy as np
import pytest

from regard.data import batching, cutting
from regard.data.batching import Batch, Batches
from regard.data.names import names_of, numbers_of
from regard.data.phrasebook import phrasebook
from regard.data.store import Store
from regard.text.byte import Bytes
from regard.text.pair import TokeniserPair
from regard.text.sentencepieces import SentencePieces

Corpus = tuple[Store, TokeniserPair]
EXAMPLES = phrasebook(size=96, seed=0).train


@pytest.fixture(autouse=True)
def small_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "POOL", 40)
    monkeypatch.setattr(cutting, "CHUNK", 17)


def corpus_of(tokenisers: TokeniserPair, folder: Path, **options: bool) -> Corpus:
    return Store.build(folder, EXAMPLES, tokenisers, key="k", **options), tokenisers


@pytest.fixture(scope="module", params=[0.0, 0.3], ids=["usual", "sampled"])
def corpus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    texts = [text for example in EXAMPLES for text in (example.source, example.target)]
    joint = SentencePieces.train(texts, "bpe", vocab_size=500, sampling=request.param)
    folder = tmp_path_factory.mktemp("store") / "train"
    return corpus_of(TokeniserPair(joint, joint), folder, has_text=True)


def batches_of(corpus: Corpus, noise: float, max_length: int | None = None) -> Batches:
    store, pair = corpus
    return Batches(store, pair, batch_tokens=400, seed=3, noise=noise, max_length=max_length)


def contents(batches: list[Batch]) -> list[list[object]]:
    return [[b.indices.tolist(), b.source.tolist(), b.target_out.tolist()] for b in batches]


def lines(batches: list[Batch], pair: TokeniserPair) -> dict[int, tuple[str, str]]:
    return {
        int(i): (pair.source.decode(s.tolist()), pair.target.decode(t.tolist()))
        for batch in batches
        for i, s, t in zip(batch.indices, batch.source, batch.target_out, strict=True)
    }


def test_no_noise_changes_no_bit(tmp_path: Path) -> None:
    pair = TokeniserPair(Bytes(), Bytes())
    bare, with_text = (
        corpus_of(pair, tmp_path / "a"),
        corpus_of(pair, tmp_path / "b", has_text=True),
    )
    assert bare[0].source_text is None
    for epoch in (0, 1):
        usual, noisy = (contents(list(batches_of(c, 0.0).epoch(epoch))) for c in (bare, with_text))
        assert usual == noisy


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_names_are_other_ones_in_every_epoch_and_the_same_on_both_sides(
    corpus: Corpus, noise: float
) -> None:
    store, pair = corpus
    batches = Batches(store, pair, batch_tokens=400, seed=3, noise=noise, names=1.0)
    first, second = (lines(list(batches.epoch(number)), pair) for number in (0, 1))
    assert first == lines(list(batches.epoch(0)), pair) != second
    named = [i for i, e in enumerate(EXAMPLES) if copied(e.source) & copied(e.target)]
    assert named
    for i in named if noise == 0 else ():
        assert (copied(first[i][0]) & copied(first[i][1])) - copied(EXAMPLES[i].source)


def copied(text: str) -> set[str]:
    return names_of(text) | numbers_of(text)


def test_every_example_comes_once_in_an_epoch(corpus: Corpus) -> None:
    seen = np.concatenate([batch.indices for batch in batches_of(corpus, 0.5).epoch(1)])
    assert sorted(seen.tolist()) == list(range(len(EXAMPLES)))


@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
def test_as_many_examples_are_spoilt_as_asked_for(corpus: Corpus, noise: float) -> None:
    said = lines(list(batches_of(corpus, noise).epoch(1)), corpus[1])
    found = [said[i] != (e.source, e.target) for i, e in enumerate(EXAMPLES)]
    # Where there are no accents to lose, noise may leave a sentence as it is.
    assert noise - 0.15 <= sum(found) / len(found) <= noise + 0.1 * (noise > 0)


def test_a_spoilt_target_is_in_capitals_or_followed_by_another(corpus: Corpus) -> None:
    said = lines(list(batches_of(corpus, 1.0).epoch(0)), corpus[1])
    num_joined = num_capitals = 0
    for i, (source, target) in said.items():
        usual = EXAMPLES[i].target
        num_capitals += target.isupper()
        usual = usual.upper() if target.isupper() else usual
        assert target.startswith(usual)
        rest = target.removeprefix(usual)
        num_joined += bool(rest)
        originals = [e.target.upper() if target.isupper() else e.target for e in EXAMPLES]
        assert rest == "" or rest.removeprefix(" ") in originals
        assert source != EXAMPLES[i].source or not rest
    assert num_joined > 0
    assert num_capitals > 0


def test_noise_is_a_function_of_seed_and_epoch(corpus: Corpus) -> None:
    first, again, other = (list(batches_of(corpus, 0.5).epoch(epoch)) for epoch in (0, 0, 1))
    assert contents(first) == contents(again)
    said, said_later = lines(first, corpus[1]), lines(other, corpus[1])
    assert sum(said[i] != said_later[i] for i in said) > len(EXAMPLES) / 3


def test_noisy_batches_go_on_from_any_batch(corpus: Corpus) -> None:
    batches = batches_of(corpus, 0.5)
    whole = contents(list(batches.epoch(2)))
    assert batches.num_batches(2) == len(whole)
    assert all(contents(list(batches.epoch(2, i))) == whole[i:] for i in (1, len(whole) - 1))


def test_noise_that_makes_a_side_too_long_is_left_out_on_both(corpus: Corpus) -> None:
    store, pair = corpus
    every = np.arange(len(store))
    longest = int(max(store.source.lengths(every).max(), store.target.lengths(every).max()))
    found = list(batches_of(corpus, 1.0, max_length=longest).epoch(0))
    assert max(max(b.source.shape[1], b.target_out.shape[1]) for b in found) <= longest + 1
    originals = {e.source: e.target for e in EXAMPLES}
    said = lines(found, pair)
    assert 0 < sum(source in originals for source, _ in said.values()) < len(said)
    assert all(originals.get(source, target) == target for source, target in said.values())


def test_validation_is_never_noisy(corpus: Corpus) -> None:
    said = lines(list(batches_of(corpus, 1.0).in_order()), corpus[1])
    assert said == {i: (e.source, e.target) for i, e in enumerate(EXAMPLES)}


def test_a_store_without_text_cannot_be_spoilt(tmp_path: Path) -> None:
    pair = TokeniserPair(Bytes(), Bytes())
    with pytest.raises(AssertionError, match="a store without text"):
        batches_of(corpus_of(pair, tmp_path / "a"), 0.1)
