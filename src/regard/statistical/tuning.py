"""Minimum error rate training: the weights with which the model's choices score best."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

import numpy as np
from jaxtyping import Float64, Int64

from regard.metrics.bleu import bleu
from regard.statistical.decoder import SEARCH, SearchConfig, decode
from regard.statistical.model import PhraseModel, Weights
from regard.statistical.tokens import cased_like, joined, tokens_of, words_of

ROUNDS = 4
N_BEST = 100
RESTARTS = 20
LEAST_GAIN = 0.01
"""BLEU that a pass over all weights must gain to be followed by another."""

NUM_COUNTS = 10
"""What sacreBLEU counts of a line: both lengths, and of n = 1 … 4 the right and all n-grams."""


@dataclass(slots=True)
class Candidates:
    """Every translation of one sentence that some weights have preferred.

    Attributes:
        source: the sentence.
        reference: its translation.
        features: h of each text.
        counts: what BLEU counts of each text.
    """

    source: str
    reference: str
    features: dict[str, Float64[np.ndarray, " features"]] = field(default_factory=dict)
    counts: dict[str, Float64[np.ndarray, " counts"]] = field(default_factory=dict)

    def search(self, model: PhraseModel, search: SearchConfig, n_best: int) -> tuple[str, bool]:
        """Add the best translations of a model; the first of them, and whether one was new."""
        words, copies = words_of(self.source), tokens_of(self.source)
        fresh: dict[str, Float64[np.ndarray, " features"]] = {}
        first = None
        for derivation in decode(model, words, copies, search, n_best=n_best):
            text = cased_like(joined(derivation.tokens), self.source)
            first = text if first is None else first
            if text not in self.features:
                fresh.setdefault(text, derivation.features(model))
        assert first is not None, "every sentence has a translation"
        if fresh:
            counts = bleu().count(list(fresh), [self.reference] * len(fresh))
            self.counts |= dict(zip(fresh, counts, strict=True))
            self.features |= fresh
        return first, bool(fresh)


def tune(
    model: PhraseModel,
    sources: Sequence[str],
    references: Sequence[str],
    *,
    search: SearchConfig = SEARCH,
    rounds: int = ROUNDS,
    n_best: int = N_BEST,
    seed: int = 0,
    progress: Callable[[int], None] = lambda num_done: None,
) -> Weights:
    """Choose the weights that give the highest BLEU on held-out sentences.

        λ̂ = argmax_λ BLEU(argmax_e Σ_m λ_m h_m(e, f_s), s = 1 … S)

    Och 2003, section 4, with the line search of section 5. The sentences are translated,
    the n best of each join its candidates, the weights are chosen among these, and so on
    until nothing is new. What is returned has translated the sentences best, be it what
    the tuning began with.

    Args:
        model: phrases, language model and the weights to begin with.
        sources: held-out sentences: the model must not have learned from them.
        references: their translations.
        search: how translations are found.
        rounds: of translating and choosing, at most.
        n_best: candidates that a round adds for each sentence.
        seed: of the starting points that are drawn.
        progress: told of every sentence, counted through the rounds.
    """
    drawn = np.random.default_rng(seed)
    pool = [
        Candidates(source, reference)
        for source, reference in zip(sources, references, strict=True)
        if source.strip()
    ]
    tried: list[tuple[float, Weights]] = []
    for number in range(rounds):
        totals, has_new = np.zeros(NUM_COUNTS), False
        for place, candidates in enumerate(pool, start=1):
            first, is_new = candidates.search(model, search, n_best)
            totals += candidates.counts[first]
            has_new |= is_new
            progress(number * len(pool) + place)
        tried.append((float(bleu_of(totals[None])[0]), model.weights))
        if not has_new:
            break
        features, counts = _stacked(pool)
        start = model.weights.vector()
        starts = [start, *(drawn.normal(start, np.abs(start)) for _ in range(RESTARTS))]
        found, _ = max((climb(features, counts, each) for each in starts), key=itemgetter(1))
        model = replace(model, weights=Weights.of(found))
    return max(tried, key=itemgetter(0))[1]


def climb(
    features: Float64[np.ndarray, "S K F"],
    counts: Float64[np.ndarray, "S K C"],
    weights: Float64[np.ndarray, " F"],
) -> tuple[Float64[np.ndarray, " F"], float]:
    """Change one weight after the other as long as BLEU grows; the weights and their BLEU."""
    score = chosen_bleu(features, counts, weights)
    while True:
        before = score
        for direction in np.eye(len(weights)):
            step, reached = line_search(features, counts, weights, direction)
            if reached > score:
                weights, score = weights + step * direction, reached
        if score < before + LEAST_GAIN:
            # Only the proportions of the weights matter.
            return weights / np.abs(weights).sum(), score


def chosen_bleu(
    features: Float64[np.ndarray, "S K F"],
    counts: Float64[np.ndarray, "S K C"],
    weights: Float64[np.ndarray, " F"],
) -> float:
    """BLEU of the candidates that the weights choose."""
    best = (features @ weights).argmax(1)
    return float(bleu_of(counts[np.arange(len(counts)), best].sum(0, keepdims=True))[0])


def line_search(
    features: Float64[np.ndarray, "S K F"],
    counts: Float64[np.ndarray, "S K C"],
    weights: Float64[np.ndarray, " F"],
    direction: Float64[np.ndarray, " F"],
) -> tuple[float, float]:
    """The step γ along a direction for which BLEU is highest, and that BLEU: exactly.

        Σ_m (λ_m + γ d_m) h_m(e, f) = a(e) + γ b(e)

    Along the line every candidate is a straight line, and the best of a sentence changes
    only where the upper envelope of its lines has a corner. Between the corners of all
    sentences BLEU is constant (Och 2003, section 5). γ is the middle of the best interval.
    """
    gammas, changes, totals = _corners(features @ weights, features @ direction, counts)
    order = np.argsort(gammas, kind="stable")
    gammas = gammas[order]
    scores = bleu_of(
        totals + np.concatenate([np.zeros((1, counts.shape[2])), changes[order]]).cumsum(0)
    )
    # Corners at one place leave no room between them.
    widths = np.diff(gammas, prepend=-np.inf, append=np.inf)
    best = int(np.where(widths > 1e-9, scores, -1.0).argmax())
    if not len(gammas):
        return 0.0, float(scores[0])
    low = gammas[best - 1] if best else gammas[0] - 1.0
    high = gammas[best] if best < len(gammas) else gammas[-1] + 1.0
    return float((low + high) / 2), float(scores[best])


def _corners(
    a: Float64[np.ndarray, "S K"],
    b: Float64[np.ndarray, "S K"],
    counts: Float64[np.ndarray, "S K C"],
) -> tuple[Float64[np.ndarray, " N"], Float64[np.ndarray, "N C"], Float64[np.ndarray, " C"]]:
    """Where the best candidates change, by how much the counts do, and the counts at γ = −∞."""
    rows = np.arange(len(a))
    # At −∞ the smallest slope wins, among equals the highest line.
    is_lowest = b == b.min(1, keepdims=True)
    current: Int64[np.ndarray, " S"] = np.where(is_lowest, a, -np.inf).argmax(1)
    totals = counts[rows, current].sum(0)
    gammas, changes = [np.zeros(0)], [np.zeros((0, counts.shape[2]))]
    while True:
        rise = b - b[rows, current][:, None]
        fall = a[rows, current][:, None] - a
        with np.errstate(divide="ignore", invalid="ignore"):
            meets = np.where(rise > 1e-12, fall / rise, np.inf)  # S K
        following = meets.argmin(1)
        gamma = meets[rows, following]
        goes_on = np.flatnonzero(gamma < np.inf)
        if not len(goes_on):
            return np.concatenate(gammas), np.concatenate(changes), totals
        gammas.append(gamma[goes_on])
        changes.append(counts[goes_on, following[goes_on]] - counts[goes_on, current[goes_on]])
        current = np.where(gamma < np.inf, following, current)


def bleu_of(totals: Float64[np.ndarray, "N C"]) -> Float64[np.ndarray, " N"]:
    """BLEU of sums of sacreBLEU's counts, many at once: equals its own, smoothing included.

    Where no n-gram is right the k-th such n counts as 1 / 2^k (Chen & Cherry 2014, method 3),
    so that even very bad translations can be told apart.
    """
    lengths, references = totals[:, 0], totals[:, 1]
    right, given = totals[:, 2:6], totals[:, 6:10]
    is_zero = right == 0
    right = np.where(is_zero, 0.5 ** is_zero.cumsum(1), right)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Without any n-gram the quotient is no precision: infinite, and the score 0.
        precision = np.where((given > 0).all(1), np.exp(np.log(right / given).mean(1)), 0.0)
        brevity = np.exp(np.minimum(0.0, 1 - references / lengths))
    found: Float64[np.ndarray, " N"] = np.nan_to_num(100 * precision * brevity)
    return found


def _stacked(
    pool: Sequence[Candidates],
) -> tuple[Float64[np.ndarray, "S K F"], Float64[np.ndarray, "S K C"]]:
    """Features and counts of all candidates; shorter lists repeat their first candidate."""
    longest = max(len(each.features) for each in pool)

    def filled(table: dict[str, np.ndarray]) -> np.ndarray:
        rows = list(table.values())
        return np.stack(rows + [rows[0]] * (longest - len(rows)))

    features = np.stack([filled(each.features) for each in pool])
    counts = np.stack([filled(each.counts) for each in pool])
    return features, counts
