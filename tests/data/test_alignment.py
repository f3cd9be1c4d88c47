"""Links read beside a corpus, and laid over whatever pieces its text is cut into."""

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.alignment import piece_alignment, read_aligned
from regard.data.batching import Batch, Batches
from regard.data.corpus import Example, read_pairs
from regard.data.store import Store
from regard.errors import DataError
from regard.text.config import TextConfig
from regard.text.kind import Kind
from regard.text.pair import TokeniserPair
from regard.text.spans import piece_words, word_spans
from regard.text.train import train_tokenisers
from tests.little_corpus import sentences

Links = frozenset[tuple[int, int]]
PAIRS = sentences()[::5]


def some_links(source: str, target: str, random: Random) -> Links:
    """Links between words at random; some words have several, some none."""
    words = len(word_spans(source)), len(word_spans(target))
    return frozenset(
        (random.randrange(words[0]), random.randrange(words[1])) for _ in range(max(words))
    )


EXAMPLES = [Example(s, t, some_links(s, t, Random(s))) for s, t in PAIRS]


def tokenisers_of(kind: Kind, sampling: float = 0.0) -> TokeniserPair:
    config = TextConfig(kind=kind, vocab_size=340, sampling=sampling)
    return train_tokenisers(config, (s for s, _ in PAIRS), (t for _, t in PAIRS))


@pytest.fixture(scope="module")
def sampling() -> TokeniserPair:
    return tokenisers_of("bpe", sampling=0.5)


def array(links: Links) -> "np.ndarray[tuple[int, int], np.dtype[np.int32]]":
    return np.array(sorted(links), np.int32).reshape(-1, 2)


# ------------------------------------------------------------------------------ over pieces


def test_where_pieces_are_words_the_rows_are_the_links_of_each_word() -> None:
    pair = tokenisers_of("words")
    source, target = pair.source.encode("le chat dort"), pair.target.encode("the cat is asleep")
    links = frozenset({(0, 0), (1, 1), (2, 2), (2, 3), (1, 3)})
    found = piece_alignment(array(links), source, target)
    assert found.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0.5, 0.5]]


@given(st.sampled_from(EXAMPLES), st.integers(0, 10**6))
def test_any_cut_of_the_words_says_the_same_of_them(
    sampling: TokeniserPair, example: Example, seed: int
) -> None:
    assert example.links is not None
    (source_ids,) = sampling.source.sample_ids([example.source], seed=seed)
    (target_ids,) = sampling.target.sample_ids([example.target], seed=seed)
    source = sampling.source.locate(example.source, source_ids)
    target = sampling.target.locate(example.target, target_ids)
    found = piece_alignment(array(example.links), source, target)
    source_words, target_words = piece_words(source), piece_words(target)
    for t, j in enumerate(target_words):
        linked = {i for i, other in example.links if other == j}
        seen = np.flatnonzero(found[t]).tolist()
        assert {source_words[s] for s in seen} == linked & set(source_words)
        assert found[t].sum() == pytest.approx(1.0 if seen else 0.0)
        assert len(set(found[t, seen].tolist())) <= 1


def test_no_links_and_no_words_give_zeros(sampling: TokeniserPair) -> None:
    source, target = sampling.source.encode("le chat"), sampling.target.encode("the cat")
    assert not piece_alignment(array(frozenset()), source, target).any()
    nothing = sampling.source.encode("")
    assert piece_alignment(array(frozenset()), nothing, target).shape == (len(target.ids), 0)


# ------------------------------------------------------------------------------ beside a corpus


def write(folder: Path, lines: list[str]) -> Path:
    path = folder / "links.txt"
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def test_pairs_are_read_with_the_links_of_their_line(tmp_path: Path) -> None:
    (tmp_path / "c.tsv").write_text("un chat\ta cat\n\t\nle chat\t\noui\tyes\n\t\n", "utf-8")
    path = write(tmp_path, ["0-0 1-1", "", "", "0-0", ""])
    found = list(read_aligned([tmp_path / "c.tsv"], path))
    assert [Example(e.source, e.target) for e in found] == list(read_pairs([tmp_path / "c.tsv"]))
    assert [e.links for e in found] == [frozenset({(0, 0), (1, 1)}), frozenset({(0, 0)})]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0-0"], "links.txt ends before line 2 of its corpus; make it anew"),
        (["0-0", "0-0", ""], "links.txt has 3 lines, its corpus 2; make it anew"),
        (
            ["0-0", "0-1"],
            "links.txt: line 2 links words beyond the 1 of the source or the 1 of the",
        ),
        (["0-0", "1-0"], "links.txt: line 2 links words beyond"),
        (["0-0", "0:0"], "links.txt: line 2: '0:0' is not a link"),
        (["0p0", "0-0"], "links.txt: line 1: holds possible links"),
    ],
)
def test_links_that_do_not_fit_the_corpus_are_refused(
    lines: list[str], message: str, tmp_path: Path
) -> None:
    (tmp_path / "c.tsv").write_text("chat\tcat\noui\tyes\n", "utf-8")
    with pytest.raises(DataError, match=message):
        list(read_aligned([tmp_path / "c.tsv"], write(tmp_path, lines)))


# ------------------------------------------------------------------------------ in batches


def store_of(pair: TokeniserPair, folder: Path) -> Store:
    return Store.build(folder, EXAMPLES, pair, key="k", has_links=True)


def test_a_store_keeps_the_links_it_is_given(tmp_path: Path) -> None:
    store = store_of(tokenisers_of("bpe"), tmp_path / "store")
    assert store.links is not None
    assert store.source_text is not None
    for i, example in enumerate(EXAMPLES):
        assert frozenset(map(tuple, store.links[i].reshape(-1, 2).tolist())) == example.links


@pytest.mark.parametrize("kind", ["bpe", "words", "bytes"])
def test_a_batch_holds_the_alignment_of_its_pieces(kind: Kind, tmp_path: Path) -> None:
    pair = tokenisers_of(kind)
    check_batches(Batches(store_of(pair, tmp_path / "s"), pair, batch_tokens=300, seed=0), pair)


def test_sampled_pieces_are_aligned_as_they_are_cut(
    sampling: TokeniserPair, tmp_path: Path
) -> None:
    store = store_of(sampling, tmp_path / "s")
    check_batches(Batches(store, sampling, batch_tokens=300, seed=0), sampling)


def check_batches(batches: Batches, pair: TokeniserPair) -> None:
    for batch in batches.epoch(0):
        assert batch.alignment is not None
        for row, index in enumerate(batch.indices.tolist()):
            num_source, num_target = batch.source_mask[row].sum(), batch.target_mask[row].sum()
            example = EXAMPLES[index]
            assert example.links is not None
            expected = piece_alignment(
                array(example.links),
                pair.source.locate(example.source, batch.source[row, : num_source - 1].tolist()),
                pair.target.locate(
                    example.target, batch.target_out[row, : num_target - 1].tolist()
                ),
            )
            found = batch.alignment[row]
            assert np.array_equal(found[: num_target - 1, : num_source - 1], expected)
            # Nothing comes from </s> or padding, and they come from nowhere.
            assert np.count_nonzero(found) == np.count_nonzero(expected)


@pytest.mark.parametrize(("noise", "names"), [(0.5, 0.0), (0.0, 1.0)])
def test_sentences_that_were_changed_lose_their_alignment_and_no_others(
    noise: float, names: float, tmp_path: Path
) -> None:
    pair = tokenisers_of("bytes")
    store = store_of(pair, tmp_path / "s")
    num_changed = num_aligned = 0
    batches = Batches(store, pair, batch_tokens=300, seed=0, noise=noise, names=names)
    for batch in batches.epoch(0):
        assert batch.alignment is not None
        for row, index in enumerate(batch.indices.tolist()):
            source, target = batch.source[row].tolist(), batch.target_out[row].tolist()
            said = pair.source.decode(source), pair.target.decode(target)
            is_changed = said != (EXAMPLES[index].source, EXAMPLES[index].target)
            is_aligned = bool(batch.alignment[row].any())
            assert is_aligned == (not is_changed and bool(EXAMPLES[index].links))
            num_changed += is_changed
            num_aligned += is_aligned
    assert num_changed > len(EXAMPLES) / 8
    assert num_aligned > len(EXAMPLES) / 8


def test_a_part_of_a_batch_has_its_part_of_the_alignment(tmp_path: Path) -> None:
    pair = tokenisers_of("bpe")
    batch: Batch = next(
        Batches(store_of(pair, tmp_path / "s"), pair, batch_tokens=300, seed=0).epoch(0)
    )
    part = batch.only(np.arange(2, 5))
    assert batch.alignment is not None
    assert part.alignment is not None
    assert part.alignment.shape == (*part.target_out.shape, part.source.shape[1])
    kept, rest = np.split(batch.alignment[2:5], [part.source.shape[1]], axis=2)
    assert np.array_equal(part.alignment, kept[:, : part.target_out.shape[1]])
    assert not rest.any()


def test_without_links_a_batch_has_no_alignment_and_the_same_tokens(tmp_path: Path) -> None:
    pair = tokenisers_of("bpe")
    bare = Store.build(tmp_path / "bare", EXAMPLES, pair, key="k")
    both = [
        list(Batches(store, pair, batch_tokens=300, seed=0).epoch(0))
        for store in (bare, store_of(pair, tmp_path / "s"))
    ]
    for one, other in zip(*both, strict=True):
        assert one.alignment is None
        assert np.array_equal(one.source, other.source)
        assert np.array_equal(one.target_out, other.target_out)
        assert np.array_equal(one.indices, other.indices)
