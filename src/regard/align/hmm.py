"""The HMM aligner: a target word's source word stands near that of the word before it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from regard.align.bitext import Bitext, Words, shaped_blocks
from regard.align.jumps import NUM_BUCKETS, Jumps
from regard.align.lexicon import FLOOR, SMOOTHING, Lexicon
from regard.align.links import Links, links_of
from regard.align.training import Iteration, Progress, say_nothing

ITERATIONS = 5

P_NULL = 0.2
"""The probability that a target word comes from NULL (Och & Ney 2003)."""


@dataclass(frozen=True, slots=True)
class HMM:
    """The hidden Markov alignment model.

        p(f, a | e) = Π_j p(a_j | a_{j−1}, I) · t(f_j | e_{a_j})

    Vogel, Ney & Tillmann 1996, section 3. The probability of a jump depends on its distance
    alone, see `Jumps`. NULL is as in Och & Ney 2003: it has a state for each source position,
    entered with probability p_0 from that position only, so that the chain remembers where
    it was; the jumps between words share 1 − p_0. Differs: a position 0 before the sentence
    is where the chain begins and what a NULL at the beginning remembers.

    Attributes:
        lexicon: t(f | e).
        jumps: p(i | i', I).
        p_null: p_0.
    """

    lexicon: Lexicon
    jumps: Jumps
    p_null: float

    def align(self, sources: Sequence[Words], targets: Sequence[Words]) -> list[Links]:
        """The most probable alignment of each pair, by the Viterbi algorithm."""
        links: list[Links] = [frozenset()] * len(sources)
        lexicon = self.lexicon
        for numbers, source, target in shaped_blocks(
            sources, targets, lexicon.source_index, lexicon.target_index
        ):
            emission = lexicon.table(source, target)  # N J I1
            transition = self.jumps.matrix(source.shape[1] - 1)
            for number, path in zip(
                numbers.tolist(), viterbi(emission, transition, self.p_null), strict=True
            ):
                links[number] = links_of(path)
        return links


def train_hmm(
    bitext: Bitext,
    start: Lexicon,
    *,
    iterations: int = ITERATIONS,
    p_null: float = P_NULL,
    smoothing: float = SMOOTHING,
    progress: Progress = say_nothing,
) -> HMM:
    """Fit t and the jumps by Baum–Welch, from Model 1's table and level jumps.

    Differs from exact EM in the jumps alone: their weights are normalised within each
    sentence, and relative frequencies are not quite the maximum then (Vogel et al. 1996 do
    the same).

    Args:
        bitext: what to learn from.
        start: t(f | e) of a Model 1 that was trained on the same bitext.
        iterations: passes over it.
        p_null: probability of NULL.
        smoothing: added to every count of a word pair.
        progress: told of every pass.
    """
    assert np.array_equal(start.keys, bitext.keys), "the table belongs to another bitext"
    lexicon, jumps = start, Jumps.level()
    for number in range(1, iterations + 1):
        counts = np.zeros(len(lexicon))
        jump_counts = np.zeros(NUM_BUCKETS)
        log_likelihood = 0.0
        for block in bitext.blocks:
            cells = block.cells.astype(np.intp)
            transition = jumps.matrix(cells.shape[2] - 1)
            emission = np.maximum(lexicon.probabilities[cells], FLOOR)  # N J I1
            found = forward_backward(emission, transition, p_null)
            np.add.at(counts, cells.ravel(), found.posterior.ravel())
            jump_counts += Jumps.count(found.moves)
            log_likelihood += float(found.log_likelihood.sum())
        lexicon, jumps = lexicon.fitted(counts, smoothing), Jumps.fitted(jump_counts)
        progress(Iteration("HMM", number, iterations, log_likelihood, bitext.num_target_tokens))
    return HMM(lexicon, jumps, p_null)


@dataclass(frozen=True, slots=True)
class Expectations:
    """What forward–backward tells of a block of sentence pairs.

    Attributes:
        posterior: p(a_j = i | f, e), NULL first.
        moves: expected number of moves from each position, 0 being the start, to each word,
            summed over the block.
        log_likelihood: log p(f | e) of each pair.
    """

    posterior: Float64[np.ndarray, "N J I1"]
    moves: Float64[np.ndarray, "I1 I"]
    log_likelihood: Float64[np.ndarray, " N"]


def forward_backward(
    emission: Float64[np.ndarray, "N J I1"],
    transition: Float64[np.ndarray, "I1 I"],
    p_null: float,
) -> Expectations:
    """Sum over all alignments of each pair.

    After a word and after NULL the chain goes on in the same way: what counts is the position
    m that it remembers. So the 2 I states of the chain need I + 1 forward numbers only,

        α_j(m) = [ Σ_m' α_{j−1}(m') T(m', m) t(f_j | e_m) + α_{j−1}(m) p_0 t(f_j | NULL) ] / z_j

    with T = (1 − p_0) · transition and z_j such that α_j sums to one: Π z_j is the likelihood.

    Args:
        emission: t(f_j | e_i), NULL first.
        transition: p(i | m), m = 0 being the start.
        p_null: p_0.
    """
    num_pairs, num_target, width = emission.shape
    moving = (1 - p_null) * transition  # I1 I
    from_null = p_null * emission[:, :, :1]  # N J 1
    from_word = emission[:, :, 1:]  # N J I

    memory = np.zeros((num_target + 1, num_pairs, width))  # J+1 N I1, α
    memory[0, :, 0] = 1.0
    posterior = np.empty_like(emission)
    scale = np.empty((num_pairs, num_target, 1))
    for j in range(num_target):
        by_word = (memory[j] @ moving) * from_word[:, j]  # N I
        memory[j + 1] = memory[j] * from_null[:, j]
        memory[j + 1, :, 1:] += by_word
        scale[:, j] = memory[j + 1].sum(1, keepdims=True)
        memory[j + 1] /= scale[:, j]
        posterior[:, j, 1:] = by_word / scale[:, j]

    future = np.ones((num_pairs, width))  # β_j(m)
    moves = np.zeros_like(transition)
    for j in reversed(range(num_target)):
        null_ahead = from_null[:, j] * future / scale[:, j]  # N I1
        word_ahead = from_word[:, j] * future[:, 1:] / scale[:, j]  # N I
        posterior[:, j, 0] = (memory[j] * null_ahead).sum(1)
        posterior[:, j, 1:] *= future[:, 1:]
        moves += memory[j].T @ word_ahead
        future = null_ahead + word_ahead @ moving.T
    return Expectations(posterior, moves * moving, np.log(scale).sum((1, 2)))


def viterbi(
    emission: Float64[np.ndarray, "N J I1"],
    transition: Float64[np.ndarray, "I1 I"],
    p_null: float,
) -> Int64[np.ndarray, "N J"]:
    """The most probable alignment of each pair: source positions from 1, 0 for NULL.

    As in `forward_backward`, with max in the place of Σ.
    """
    num_pairs, num_target, width = emission.shape
    moving = (1 - p_null) * transition  # I1 I
    best = np.zeros((num_pairs, width))
    best[:, 0] = 1.0
    was_null = np.empty((num_target, num_pairs, width), np.bool_)
    came_from = np.empty((num_target, num_pairs, width - 1), np.int64)
    for j in range(num_target):
        arriving = best[:, :, None] * moving  # N I1 I
        came_from[j] = arriving.argmax(1)
        by_word = np.take_along_axis(arriving, came_from[j][:, None], 1)[:, 0] * emission[:, j, 1:]
        best = best * (p_null * emission[:, j, :1])
        was_null[j, :, 0] = True
        was_null[j, :, 1:] = best[:, 1:] > by_word
        best[:, 1:] = np.maximum(best[:, 1:], by_word)
        best /= best.max(1, keepdims=True)

    path = np.empty((num_pairs, num_target), np.int64)
    rows = np.arange(num_pairs)
    at = best.argmax(1)  # N, the position remembered
    for j in reversed(range(num_target)):
        is_null = was_null[j, rows, at]
        path[:, j] = np.where(is_null, 0, at)
        at = np.where(is_null, at, came_from[j, rows, at - 1])
    return path
