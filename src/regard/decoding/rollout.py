"""One hypothesis a sentence, one token at a time: what greedy search and sampling share."""

from collections.abc import Callable, Sequence

import torch

from regard.decoding.hypothesis import Hypothesis
from regard.decoding.penalty import Penalty
from regard.decoding.request import Request, Specials
from regard.decoding.stepper import Stepper
from regard.decoding.top import check_numbers
from regard.shapes import Float, Int, Tensor

Choose = Callable[[Float[Tensor, "R V"], Sequence[int], int], Int[Tensor, "R"]]


def roll_out(
    stepper: Stepper, request: Request, specials: Specials, penalty: Penalty, choose: Choose
) -> list[Hypothesis]:
    """Choose a token for every sentence until each has ended; ended ones leave the batch.

    Args:
        stepper: gives the log-probabilities.
        request: the sentences.
        specials: the tokens treated apart.
        penalty: what the log-probability of the whole is divided by, for the score.
        choose: picks a token a row, given the log-probabilities, which sentence of the
            request each row is, and the number of the step.

    Returns:
        One hypothesis a sentence, in order.
    """
    state = stepper.start(request.source, request.source_mask, max(request.max_lengths))
    running = list(range(len(request.source)))  # sentences still without an end
    tokens: list[list[int]] = [[] for _ in running]
    log_probs: list[list[float]] = [[] for _ in running]
    rows: list[list[int]] = [[] for _ in running]
    last = torch.full((len(running),), specials.bos, device=request.source.device)
    step = 0
    while running:
        scores = stepper.step(state, last)  # R V
        scores = request.allowed(scores.unsqueeze(1), running, step, specials).squeeze(1)
        choice = choose(scores, running, step)
        chosen = scores.gather(1, choice.unsqueeze(1)).squeeze(1)
        keep = []
        found = chosen.tolist()
        check_numbers(found)
        for row, (token, log_prob) in enumerate(zip(choice.tolist(), found, strict=True)):
            sentence = running[row]
            rows[sentence].append(row)
            log_probs[sentence].append(log_prob)
            if token != specials.eos:
                tokens[sentence].append(token)
                keep.append(row)
        if keep:
            kept = torch.tensor(keep, device=choice.device)
            stepper.reorder(state, kept.unsqueeze(1))
            last = choice[kept]
        running = [running[row] for row in keep]
        step += 1
    return [
        Hypothesis(tuple(t), sum(p) / penalty(len(p)), tuple(p), tuple(r))
        for t, p, r in zip(tokens, log_probs, rows, strict=True)
    ]
