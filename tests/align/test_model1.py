"""IBM Model 1."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.align.bitext import Bitext
from regard.align.error_rate import error_rate
from regard.align.model1 import expected_counts, train_model1
from tests.align.toy_corpora import make_corpus, monotone, reversed_order

word = st.sampled_from(["a", "b", "c", "d"])
corpora = st.lists(
    st.tuples(st.lists(word, min_size=1, max_size=3), st.lists(word, min_size=1, max_size=4)),
    min_size=1,
    max_size=6,
)
Corpus = list[tuple[list[str], list[str]]]


def bitext_of(corpus: Corpus, **options: int) -> Bitext:
    return Bitext.of([s for s, _ in corpus], [t for _, t in corpus], **options)


@settings(deadline=None, max_examples=50)
@given(corpora)
def test_the_likelihood_never_falls(corpus: Corpus) -> None:
    seen: list[float] = []
    train_model1(
        bitext_of(corpus),
        iterations=12,
        smoothing=0.0,
        progress=lambda each: seen.append(each.log_likelihood),
    )
    assert all(after >= before - 1e-9 for before, after in itertools.pairwise(seen))


@settings(deadline=None, max_examples=50)
@given(corpora, st.sampled_from([0.01, 0.5]))
def test_with_smoothing_likelihood_times_prior_never_falls(corpus: Corpus, n: float) -> None:
    bitext = bitext_of(corpus)
    sources = np.arange(len(bitext.source_words))[:, None]
    targets = np.tile(np.arange(len(bitext.target_words)), (len(sources), 1))

    def objective(iterations: int) -> float:
        lexicon = train_model1(bitext, iterations=iterations, smoothing=n).lexicon
        _, log_likelihood = expected_counts(bitext, lexicon.probabilities)
        return log_likelihood + n * float(np.log(lexicon.table(sources, targets)).sum())

    seen = [objective(iterations) for iterations in range(1, 6)]
    assert all(after >= before - 1e-9 for before, after in itertools.pairwise(seen))


@settings(deadline=None, max_examples=50)
@given(corpora, st.integers(1, 40))
def test_learning_in_chunks_equals_learning_on_the_whole(corpus: Corpus, block_cells: int) -> None:
    whole = train_model1(bitext_of(corpus)).lexicon
    chunks = train_model1(bitext_of(corpus, block_cells=block_cells)).lexicon
    assert (chunks.source_words, chunks.target_words) == (whole.source_words, whole.target_words)
    np.testing.assert_array_equal(chunks.keys, whole.keys)
    np.testing.assert_allclose(chunks.probabilities, whole.probabilities, rtol=1e-9)


@settings(deadline=None, max_examples=50)
@given(corpora)
def test_the_likelihood_is_the_sum_over_all_alignments(corpus: Corpus) -> None:
    bitext = bitext_of(corpus)
    model = train_model1(bitext, iterations=2)
    _, found = expected_counts(bitext, model.lexicon.probabilities)
    total = 0.0
    t = {word: dict(model.lexicon.translations(word)) for word in model.lexicon.source_words}
    for source, target in corpus:
        likelihood = 0.0
        for alignment in itertools.product(["", *source], repeat=len(target)):
            pairs = zip(alignment, target, strict=True)
            likelihood += math.prod(t[e].get(f, 0.0) for e, f in pairs)
        total += math.log(likelihood / (len(source) + 1) ** len(target))
    assert found == pytest.approx(total)


def test_the_textbook_example_is_learned() -> None:
    sources = [["das", "haus"], ["das", "buch"], ["ein", "buch"]]
    targets = [["the", "house"], ["the", "book"], ["a", "book"]]
    lexicon = train_model1(Bitext.of(sources, targets), iterations=50).lexicon
    best = {word: lexicon.translations(word)[0][0] for word in ("das", "haus", "buch", "ein")}
    assert best == {"das": "the", "haus": "house", "buch": "book", "ein": "a"}


def test_a_toy_lexicon_is_recovered() -> None:
    corpus = make_corpus(400, reversed_order)
    lexicon = train_model1(Bitext.of(corpus.sources, corpus.targets)).lexicon
    frequent = {word for words in corpus.sources for word in words}
    right = sum(lexicon.translations(w)[0][0] == w.replace("w", "W") for w in frequent)
    assert right / len(frequent) > 0.95


def test_order_means_nothing() -> None:
    corpus = make_corpus(100, monotone, noise=0.1)
    turned = [words[::-1] for words in corpus.targets]
    tables = [
        dict(train_model1(Bitext.of(corpus.sources, targets)).lexicon.translations("w0"))
        for targets in (corpus.targets, turned)
    ]
    assert tables[0] == pytest.approx(tables[1])


def test_words_that_were_never_seen_go_together() -> None:
    corpus = make_corpus(100, monotone)
    model = train_model1(Bitext.of(corpus.sources, corpus.targets))
    assert model.align([["w0", "new"]], [["W0", "NEW"]]) == [frozenset({(0, 0), (1, 1)})]


def test_links_come_in_the_order_of_the_pairs() -> None:
    corpus = make_corpus(300, reversed_order)
    model = train_model1(Bitext.of(corpus.sources, corpus.targets))
    together = model.align(corpus.sources[:40], corpus.targets[:40])
    alone = [
        model.align([s], [t])[0]
        for s, t in zip(corpus.sources[:40], corpus.targets[:40], strict=True)
    ]
    assert together == alone
    assert error_rate(together, corpus.gold[:40]).aer < 0.3


def test_empty_sides_have_no_links() -> None:
    model = train_model1(Bitext.of([["a"]], [["x"]]))
    assert model.align([[], ["a"], []], [["x"], [], []]) == [frozenset()] * 3
