"""The search: exact where nothing is pruned, and true to its model where something is."""

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.align.links import Links
from regard.statistical.decoder import SearchConfig, decode, first_gap, future_scores, gaps_of
from regard.statistical.language_model import train_language_model
from regard.statistical.model import Derivation, Option, PhraseModel, Weights
from regard.statistical.phrases import train_phrases

EVERYTHING = SearchConfig(stack=1_000_000, options=1000, distortion_limit=10)


@cache
def random_model(seed: int) -> PhraseModel:
    """Sentences of five words, some of whose neighbours change places in translation."""
    chosen = random.Random(seed)
    sources, targets, alignments = [], [], []
    for _ in range(60):
        words = [chosen.randrange(5) for _ in range(chosen.randint(2, 5))]
        order = list(range(len(words)))
        place = chosen.randrange(len(words) - 1)
        order[place], order[place + 1] = order[place + 1], order[place]
        sources.append([f"f{word}" for word in words])
        targets.append([f" e{(words[i] + chosen.randrange(2)) % 5}" for i in order])
        alignments.append(frozenset((i, j) for j, i in enumerate(order)))
    table = train_phrases(sources, targets, alignments, max_length=2, limit=3)
    weights = Weights.of(Weights().vector() + [chosen.uniform(0, 0.2) for _ in range(8)])
    return PhraseModel(table, train_language_model(targets, order=3), weights)


def all_derivations(options: list[Option], size: int, limit: int) -> Iterator[tuple[Option, ...]]:
    """Every order of options that covers each word once, no jump being longer than the limit."""

    def grow(so_far: tuple[Option, ...], covered: int, end: int) -> Iterator[tuple[Option, ...]]:
        if covered == (1 << size) - 1:
            yield so_far
        for option in options:
            span = (1 << option.end) - (1 << option.begin)
            if not covered & span and abs(option.begin - end) <= limit:
                yield from grow((*so_far, option), covered | span, option.end)

    return grow((), 0, 0)


def exhaustive(model: PhraseModel, words: list[str], limit: int) -> dict[tuple[str, ...], float]:
    """The best score of every text that can be written."""
    best: dict[tuple[str, ...], float] = {}
    for options in all_derivations(model.options(words, words, 1000), len(words), limit):
        derivation = Derivation(options, 0.0)
        score = float(derivation.features(model) @ model.weights.vector())
        best[derivation.tokens] = max(score, best.get(derivation.tokens, -1e9))
    return best


@pytest.mark.parametrize("seed", range(4))
def test_without_pruning_the_n_best_are_those_of_all_translations(seed: int) -> None:
    model = random_model(seed)
    words = ["f0", "f3", "unheard", "f1"]
    expected = sorted(exhaustive(model, words, 10).values(), reverse=True)[:10]
    found = decode(model, words, words, EVERYTHING, n_best=10)
    assert [each.score for each in found] == pytest.approx(expected)


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4])
def test_jumps_are_no_longer_than_the_limit(limit: int) -> None:
    model = random_model(5)
    model = replace(model, weights=replace(model.weights, distortion=-5.0))  # jumps are liked
    words = ["f0", "f3", "f2", "f1", "f4", "f0", "f1"]
    for each in decode(model, words, words, SearchConfig(distortion_limit=limit), n_best=10):
        ends = [0, *(option.end for option in each.options)]
        starts = [option.begin for option in each.options]
        assert all(abs(a - b) <= limit for a, b in zip(starts, ends, strict=False))


@given(st.data())
@settings(max_examples=15, deadline=None)
def test_every_word_is_translated_once_however_hard_the_pruning(data: st.DataObject) -> None:
    model = random_model(6)
    words = data.draw(st.lists(st.sampled_from(["f0", "f1", "f2", "new"]), min_size=1, max_size=9))
    config = SearchConfig(
        stack=data.draw(st.integers(1, 4)),
        options=data.draw(st.integers(1, 3)),
        distortion_limit=data.draw(st.integers(0, 9)),
    )
    (best,) = decode(model, words, words, config)
    spans = sorted((option.begin, option.end) for option in best.options)
    assert [i for begin, end in spans for i in range(begin, end)] == list(range(len(words)))


@given(st.lists(st.sampled_from(["f0", "f1", "f2", "f3", "new"]), min_size=1, max_size=8))
@settings(max_examples=15, deadline=None)
def test_a_score_is_the_weighted_sum_of_the_features(words: list[str]) -> None:
    model = random_model(7)
    for each in decode(model, words, words, n_best=5):
        assert each.features(model) @ model.weights.vector() == pytest.approx(each.score)


def test_a_larger_stack_never_finds_worse() -> None:
    model = random_model(8)
    for sentence in (["f0", "f1", "f2", "f3", "f4", "f0", "f2"], ["f4", "f3", "f4", "f1"]):
        scores = [
            decode(model, sentence, sentence, SearchConfig(stack=size, distortion_limit=4))[0].score
            for size in (1, 10_000)
        ]
        assert scores[0] <= scores[1]


def test_translations_differ_and_come_best_first() -> None:
    model = random_model(9)
    words = ["f0", "f1", "f2", "f3"]
    found = decode(model, words, words, n_best=20)
    assert len({each.tokens for each in found}) == len(found) == 20
    assert [each.score for each in found] == sorted((e.score for e in found), reverse=True)
    assert found[0].score == decode(model, words, words)[0].score


def test_an_unknown_word_is_copied_and_linked() -> None:
    model = random_model(10)
    (best,) = decode(model, ["unheard"], [" Unheard"])
    assert best.tokens == (" Unheard",)
    assert best.links == ((0, 0),)


def test_links_are_between_words_of_the_sentences() -> None:
    source, target = [["a", "b", "c"]] * 3, [[" B", " A", " C"]] * 3
    links: Links = frozenset({(0, 1), (1, 0), (2, 2)})
    table = train_phrases(source, target, [links] * 3)
    model = PhraseModel(table, train_language_model(target), Weights())
    (best,) = decode(model, source[0], source[0])
    assert best.tokens == (" B", " A", " C")
    assert frozenset(best.links) == links


def test_the_future_is_the_best_way_to_cut_a_span() -> None:
    best = {(0, 1): -1.0, (1, 2): -2.0, (2, 3): -1.5, (0, 2): -2.5, (1, 3): -4.0}
    future = future_scores(best, 3)
    assert future[0, 2] == -2.5  # one phrase
    assert future[1, 3] == -3.5  # two
    assert future[0, 3] == -4.0  # (0, 2) and (2, 3)


@given(st.integers(0, 2**10 - 1))
def test_gaps_are_what_is_not_covered(covered: int) -> None:
    free = [place for place in range(10) if not covered >> place & 1]
    gaps = gaps_of(covered, 10)
    assert [place for begin, end in gaps for place in range(begin, end)] == free
    assert all(end < begin for (_, end), (begin, _) in pairwise(gaps))
    assert first_gap(covered) == (free[0] if free else 10)
