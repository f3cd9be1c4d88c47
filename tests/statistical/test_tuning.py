"""Tuning: a line search that is exact, and weights that translate better for it."""

import numpy as np
import pytest

from regard.metrics.bleu import bleu
from regard.statistical.decoder import SearchConfig, decode
from regard.statistical.language_model import train_language_model
from regard.statistical.model import PhraseModel, Weights
from regard.statistical.phrases import train_phrases
from regard.statistical.tokens import joined, tokens_of, words_of
from regard.statistical.tuning import bleu_of, chosen_bleu, climb, line_search, tune

REFERENCES = ["the cat sat on the mat", "two dogs run in the wet grass", "a man reads a book"]
OTHERS = ["the cat sat on a mat", "dogs run in the wet grass", "a man is reading one book"]
QUICK = SearchConfig(stack=30, options=5, distortion_limit=3)
BAD = ["cat the on sat mat the", "grass wet", "one woman writes"]


def random_lists(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three sentences with five candidates each, of random features."""
    chosen = np.random.default_rng(seed)
    features = chosen.normal(size=(3, 5, 4))
    rows = []
    for place, reference in enumerate(REFERENCES):
        texts = [reference, OTHERS[place], BAD[place], "the", "in the wet grass a book"]
        rows.append(bleu().count(texts, [reference] * 5))
    return features, np.stack(rows)


def test_bleu_of_counts_is_that_of_sacrebleu() -> None:
    scorer = bleu()
    counts = np.stack(
        [scorer.count(texts, REFERENCES).sum(0) for texts in (REFERENCES, OTHERS, BAD, ["the"] * 3)]
    )
    assert bleu_of(counts) == pytest.approx([scorer.value(each) for each in counts])
    assert bleu_of(np.zeros((1, 10))) == 0.0


@pytest.mark.parametrize("seed", range(8))
def test_the_line_search_finds_what_no_step_of_a_fine_grid_beats(seed: int) -> None:
    features, counts = random_lists(seed)
    chosen = np.random.default_rng(seed + 100)
    weights, direction = chosen.normal(size=4), chosen.normal(size=4)
    step, reached = line_search(features, counts, weights, direction)

    def score(gamma: float) -> float:
        return chosen_bleu(features, counts, weights + gamma * direction)

    assert score(step) == pytest.approx(reached)
    assert max(score(gamma) for gamma in np.linspace(-20, 20, 1001)) <= reached + 1e-9


def test_a_direction_that_changes_nothing_is_not_taken() -> None:
    features, counts = random_lists(0)
    step, reached = line_search(features, counts, np.ones(4), np.zeros(4))
    assert step == 0.0
    assert reached == pytest.approx(chosen_bleu(features, counts, np.ones(4)))


@pytest.mark.parametrize("seed", range(4))
def test_climbing_never_ends_below_its_start(seed: int) -> None:
    features, counts = random_lists(seed)
    start = np.random.default_rng(seed).normal(size=4)
    weights, score = climb(features, counts, start)
    assert score >= chosen_bleu(features, counts, start)
    assert chosen_bleu(features, counts, weights) == pytest.approx(score)
    assert np.abs(weights).sum() == pytest.approx(1.0)


def test_tuning_mends_weights_that_translate_badly() -> None:
    pairs = [
        (f"{f_who} {f_does} {f_what}.", f"{who} {does} {what}.")
        for f_who, who in (("le chat", "the cat"), ("elle", "she"))
        for f_does, does in (("voit", "sees"), ("aime", "likes"), ("cherche", "looks for"))
        for f_what, what in (("la gare", "the station"), ("un livre", "a book"))
    ]
    sources, targets = [words_of(f) for f, _ in pairs], [tokens_of(e) for _, e in pairs]
    # Word by word from left to right, the rest of the longer side to the last word.
    links = [
        frozenset((min(k, len(f) - 1), min(k, len(e) - 1)) for k in range(max(len(f), len(e))))
        for f, e in zip(sources, targets, strict=True)
    ]
    table = train_phrases(sources, targets, links)
    # A prize for jumps and for words, none for what is probable.
    bad = Weights(phrase=0.0, phrase_reverse=0.0, lexical=0.0, words=1.0, distortion=-1.0)
    model = PhraseModel(table, train_language_model(targets, order=2), bad)

    def score(weights: Weights) -> float:
        changed = PhraseModel(table, model.language_model, weights)
        best = [decode(changed, words_of(f), tokens_of(f), QUICK)[0] for f, _ in pairs]
        texts = [joined(each.tokens) for each in best]
        return bleu().score(texts, [e for _, e in pairs], samples=0).value

    told: list[int] = []
    texts = [f for f, _ in pairs], [e for _, e in pairs]
    tuned = tune(model, *texts, search=QUICK, rounds=4, n_best=20, progress=told.append)
    assert score(tuned) > score(bad) + 20
    assert told == list(range(1, told[-1] + 1))


def test_weights_and_their_vector_are_one() -> None:
    assert Weights.of(Weights().vector()) == Weights()
