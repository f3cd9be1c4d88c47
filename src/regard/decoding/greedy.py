"""Greedy search: the most probable token, again and again."""

from regard.decoding.hypothesis import Hypothesis
from regard.decoding.penalty import Penalty, no_penalty
from regard.decoding.request import Request, Specials
from regard.decoding.rollout import roll_out
from regard.decoding.stepper import Stepper
from regard.decoding.top import best_token


def greedy_search(
    stepper: Stepper, request: Request, specials: Specials, penalty: Penalty = no_penalty
) -> list[Hypothesis]:
    """Take the most probable token at every step.

        y_t = argmax_y p(y | y_1 … y_{t−1}, x)

    The penalty changes the reported score, never the choice.
    """
    return roll_out(
        stepper, request, specials, penalty, lambda log_probs, *_: best_token(log_probs)
    )
