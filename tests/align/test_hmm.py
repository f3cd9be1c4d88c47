"""The HMM aligner."""

import itertools
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Float64

from regard.align.bitext import Bitext
from regard.align.error_rate import error_rate
from regard.align.hmm import HMM, forward_backward, train_hmm, viterbi
from regard.align.jumps import FARTHEST, NUM_BUCKETS, Jumps
from regard.align.model1 import train_model1
from tests.align.toy_corpora import ToyCorpus, make_corpus, monotone, reversed_order

P_NULL = 0.3


def train(corpus: ToyCorpus, **options: int) -> HMM:
    bitext = Bitext.of(corpus.sources, corpus.targets, **options)
    return train_hmm(bitext, train_model1(bitext).lexicon)


def all_alignments(
    emission: Float64[np.ndarray, "J I1"], transition: Float64[np.ndarray, "I1 I"]
) -> dict[tuple[int, ...], float]:
    """The joint probability of every alignment, multiplied out one by one."""
    num_target, width = emission.shape
    found = {}
    for path in itertools.product(range(width), repeat=num_target):
        probability, at = 1.0, 0
        for j, i in enumerate(path):
            probability *= emission[j, i]
            probability *= P_NULL if i == 0 else (1 - P_NULL) * transition[at, i - 1]
            at = at if i == 0 else i
        found[path] = probability
    return found


@pytest.fixture(params=[(1, 1), (1, 4), (4, 1), (2, 3), (3, 3), (4, 4)])
def problem(
    request: pytest.FixtureRequest,
) -> tuple[Float64[np.ndarray, "N J I1"], Float64[np.ndarray, "I1 I"]]:
    """Five random sentence pairs of I × J words."""
    num_source, num_target = request.param
    random = np.random.default_rng(num_source * 10 + num_target)
    emission = random.random((5, num_target, num_source + 1)) ** 3
    return emission, Jumps(random.random(NUM_BUCKETS)).matrix(num_source)


Problem = tuple[Float64[np.ndarray, "N J I1"], Float64[np.ndarray, "I1 I"]]


def test_the_likelihood_equals_brute_force(problem: Problem) -> None:
    emission, transition = problem
    found = forward_backward(emission, transition, P_NULL).log_likelihood
    expected = [np.log(sum(all_alignments(each, transition).values())) for each in emission]
    np.testing.assert_allclose(found, expected)


def test_posteriors_equal_brute_force(problem: Problem) -> None:
    emission, transition = problem
    expected = np.zeros_like(emission)
    for row, each in enumerate(emission):
        joint = all_alignments(each, transition)
        for path, probability in joint.items():
            for j, i in enumerate(path):
                expected[row, j, i] += probability / sum(joint.values())
    found = forward_backward(emission, transition, P_NULL).posterior
    np.testing.assert_allclose(found, expected)


def test_moves_equal_brute_force(problem: Problem) -> None:
    emission, transition = problem
    expected = np.zeros_like(transition)
    for each in emission:
        joint = all_alignments(each, transition)
        for path, probability in joint.items():
            real = [i for i in path if i]
            for before, after in itertools.pairwise([0, *real]):
                expected[before, after - 1] += probability / sum(joint.values())
    found = forward_backward(emission, transition, P_NULL).moves
    np.testing.assert_allclose(found, expected)


def test_viterbi_equals_brute_force(problem: Problem) -> None:
    emission, transition = problem
    joints = [all_alignments(each, transition) for each in emission]
    expected = [max(joint, key=lambda path: joint[path]) for joint in joints]
    assert [tuple(path) for path in viterbi(emission, transition, P_NULL)] == expected


def test_long_sentences_do_not_underflow() -> None:
    emission = np.full((1, 200, 201), 1e-10)
    found = forward_backward(emission, Jumps.level().matrix(200), P_NULL)
    np.testing.assert_allclose(found.posterior.sum(2), 1.0)
    assert np.isfinite(found.log_likelihood).all()


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 60), st.integers(0, 2**31))
def test_jumps_are_distributions(num_words: int, seed: int) -> None:
    jumps = Jumps(np.random.default_rng(seed).random(NUM_BUCKETS) + 1e-3)
    matrix = jumps.matrix(num_words)
    assert matrix.shape == (num_words + 1, num_words)
    np.testing.assert_allclose(matrix.sum(1), 1.0)


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 60), st.integers(0, 2**31))
def test_no_move_is_lost_in_the_buckets(num_words: int, seed: int) -> None:
    moves = np.random.default_rng(seed).random((num_words + 1, num_words))
    counts = Jumps.count(moves)
    assert counts.sum() == pytest.approx(moves.sum())
    assert counts[2 * FARTHEST + 1 :].sum() == pytest.approx(moves[0].sum())


def test_far_words_share_the_weight_of_their_bucket() -> None:
    weights = np.zeros(NUM_BUCKETS)
    weights[FARTHEST + 1], weights[2 * FARTHEST] = 3.0, 1.0  # one ahead, and far ahead
    row = Jumps(weights + 1e-300).matrix(FARTHEST + 5)[1]
    assert row[1] == pytest.approx(0.75)
    assert row[FARTHEST:] == pytest.approx([0.05] * 5)


def test_learning_in_chunks_equals_learning_on_the_whole() -> None:
    corpus = make_corpus(60, monotone, noise=0.1)
    whole, chunks = train(corpus), train(corpus, block_cells=30)
    np.testing.assert_allclose(chunks.jumps.weights, whole.jumps.weights, rtol=1e-6)
    np.testing.assert_allclose(
        chunks.lexicon.probabilities, whole.lexicon.probabilities, rtol=1e-6, atol=1e-12
    )


@pytest.mark.parametrize("order", [monotone, reversed_order])
def test_order_tells_repeated_words_apart(order: object) -> None:
    assert callable(order)
    corpus = make_corpus(400, order, noise=0.1, inserted=0.1)
    bitext = Bitext.of(corpus.sources, corpus.targets)
    model1 = train_model1(bitext)
    hmm = train_hmm(bitext, model1.lexicon)
    without = error_rate(model1.align(corpus.sources, corpus.targets), corpus.gold).aer
    with_order = error_rate(hmm.align(corpus.sources, corpus.targets), corpus.gold).aer
    assert with_order < without / 2


def test_a_reversed_corpus_is_aligned() -> None:
    corpus = make_corpus(400, reversed_order)
    found = train(corpus).align(corpus.sources, corpus.targets)
    assert error_rate(found, corpus.gold).aer < 0.02


def test_the_jumps_of_a_reversed_corpus_go_back_by_one() -> None:
    jumps = train(make_corpus(400, reversed_order)).jumps
    assert jumps.weights[: 2 * FARTHEST + 1].argmax() == FARTHEST - 1


def test_inserted_words_are_left_alone() -> None:
    corpus = make_corpus(400, monotone, inserted=0.3)
    found = train(corpus).align(corpus.sources, corpus.targets)
    places = [
        (n, j) for n, words in enumerate(corpus.targets) for j, w in enumerate(words) if w == "and"
    ]
    linked = sum(any(j == place for _, j in found[n]) for n, place in places)
    assert linked / len(places) < 0.05


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**31))
def test_a_batch_equals_its_sentences(seed: int) -> None:
    corpus = make_corpus(30, monotone, noise=0.2, seed=3)
    model = train(corpus)
    chosen = Random(seed).sample(range(30), 5)
    sources, targets = [corpus.sources[n] for n in chosen], [corpus.targets[n] for n in chosen]
    together = model.align(sources, targets)
    assert together == [model.align([s], [t])[0] for s, t in zip(sources, targets, strict=True)]


def test_an_unknown_word_is_placed_by_its_neighbours() -> None:
    model = train(make_corpus(400, monotone))
    (found,) = model.align([["w1", "new", "w2"]], [["W1", "NEW", "W2"]])
    assert found == {(0, 0), (1, 1), (2, 2)}
