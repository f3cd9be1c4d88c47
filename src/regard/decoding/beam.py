"""Beam search: the N best beginnings of a sentence, side by side."""

import itertools
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from regard.decoding.hypothesis import Hypothesis
from regard.decoding.penalty import Penalty, no_penalty
from regard.decoding.request import Request, Specials
from regard.decoding.stepper import Stepper
from regard.decoding.top import best_continuations, check_numbers


class _Ending(NamedTuple):
    """A finished hypothesis, before it is read backwards.

    Attributes:
        score: its log-probability, divided by the penalty of its length.
        total: its log-probability.
        step: at which it ended.
        row: that ended.
    """

    score: float
    total: float
    step: int
    row: int


@dataclass(slots=True)
class _History:
    """What every row was at every step, so that a finished row can be read backwards.

    Attributes:
        tokens: the token each row was fed at each step.
        parents: the row it came from one step earlier.
        scores: the log-probability of everything it was fed.
    """

    tokens: list[list[int]] = field(default_factory=list)
    parents: list[list[int]] = field(default_factory=list)
    scores: list[list[float]] = field(default_factory=list)

    def add(
        self,
        tokens: NDArray[np.int64],
        parents: NDArray[np.int64],
        scores: NDArray[np.float32],
    ) -> None:
        # As lists, in which a single place is found faster than in an array.
        self.tokens.append(tokens.tolist())
        self.parents.append(parents.tolist())
        self.scores.append(scores.tolist())

    def trace(self, ending: _Ending) -> Hypothesis:
        """The hypothesis that ended so."""
        row, rows, tokens, totals = ending.row, [], [], [ending.total]
        for step in range(ending.step, -1, -1):
            rows.append(row)
            tokens.append(self.tokens[step][row])
            totals.append(self.scores[step][row])
            row = self.parents[step][row]
        totals.reverse()
        return Hypothesis(
            tokens=tuple(reversed(tokens[:-1])),  # the first token fed was the start token
            score=ending.score,
            log_probs=tuple(b - a for a, b in itertools.pairwise(totals)),
            rows=tuple(reversed(rows)),
        )


def beam_search(
    stepper: Stepper,
    request: Request,
    specials: Specials,
    *,
    beam: int,
    n_best: int = 1,
    penalty: Penalty = no_penalty,
    early_exit: bool = False,
) -> list[list[Hypothesis]]:
    """Keep the `beam` most probable beginnings of each sentence, and extend them together.

        score(Y) = log p(Y | X) / lp(Y)

    Wu et al. 2016, section 7. At each step the 2 · beam best continuations of a sentence are
    looked at. Those that end, among the best `beam`, are finished hypotheses; the best
    `beam` that do not end live on. A sentence whose search is over leaves the batch.

    Args:
        stepper: gives the log-probabilities.
        request: the sentences.
        specials: the tokens treated apart.
        beam: beginnings kept, N.
        n_best: finished hypotheses returned, best first.
        penalty: lp, the divisor of a log-probability by its length.
        early_exit: a sentence is over when `beam` hypotheses have finished; otherwise when
            no living one could still be among the `n_best`, however it went on.

    Returns:
        For each sentence in order, its best hypotheses.
    """
    device = request.source.device
    state = stepper.start(request.source, request.source_mask, max(request.max_lengths))
    running = list(range(len(request.source)))
    finished: list[list[_Ending]] = [[] for _ in running]
    history = _History()
    last = torch.full((len(running),), specials.bos, device=device)
    parents = np.arange(len(running))
    scores = torch.zeros(len(running), 1, device=device)  # B N: one beginning at first
    step = 0
    while True:
        history.add(last.cpu().numpy(), parents, scores.flatten().cpu().numpy())
        num_rows = scores.shape[1]
        log_probs = stepper.step(state, last).view(len(running), num_rows, -1)  # B N V
        log_probs = request.allowed(log_probs, running, step, specials)
        found = best_continuations(scores, log_probs, 2 * beam)  # B 2N, best first
        totals, lanes, tokens = (x.cpu().numpy() for x in found)
        rows = np.arange(len(running))[:, None] * num_rows + lanes  # B 2N: the row each continues
        ends = tokens == specials.eos

        check_numbers(totals[:, 0].tolist())
        for i, j in np.argwhere((ends & (totals > -np.inf))[:, :beam]).tolist():
            total = float(totals[i, j])
            ending = _Ending(total / penalty(step + 1), total, step, int(rows[i, j]))
            finished[running[i]].append(ending)

        # The living: the first `beam` that do not end, still best first.
        alive = np.argsort(ends, axis=1, kind="stable")[:, :beam]  # B N
        totals, tokens, rows = (np.take_along_axis(x, alive, 1) for x in (totals, tokens, rows))
        # Where fewer than `beam` continuations are possible, an end fills up: it is dead.
        totals[tokens == specials.eos] = -np.inf

        step += 1
        keep = [
            i
            for i, (sentence, top) in enumerate(zip(running, totals[:, 0].tolist(), strict=True))
            if not _is_over(
                finished[sentence],
                beam,
                n_best,
                top / penalty(request.max_lengths[sentence]),
                early_exit,
            )
        ]
        if not keep:
            break
        running = [running[i] for i in keep]
        parents = rows[keep].ravel()
        scores = torch.from_numpy(totals[keep]).to(device)
        last = torch.from_numpy(tokens[keep].ravel()).to(device)
        stepper.reorder(state, torch.from_numpy(rows[keep]).to(device))
    return [
        [history.trace(ending) for ending in sorted(each, key=lambda e: -e.score)[:n_best]]
        for each in finished
    ]


def _is_over(
    finished: list[_Ending], beam: int, n_best: int, bound: float, early_exit: bool
) -> bool:
    """Whether a sentence needs no further step.

    `bound` is the best score a living hypothesis can still reach: its log-probability can only
    fall, and the divisor is largest at the longest length allowed.
    """
    if bound == -np.inf:
        return True
    if early_exit:
        return len(finished) >= beam
    ranked = sorted((ending.score for ending in finished), reverse=True)
    return len(ranked) >= n_best and ranked[n_best - 1] >= bound
