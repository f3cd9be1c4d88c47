"""What a search drives: something that gives log-probabilities one token at a time."""

import math
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import torch

from regard.errors import ModelFileError
from regard.models.interface import Seq2Seq
from regard.shapes import Bool, Float, Int, Tensor


@runtime_checkable
class Stepper(Protocol):
    """One row a hypothesis; the rows of one sentence stand together."""

    def start(
        self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"], max_length: int
    ) -> Any:
        """Read the sources; return a state with one row a sentence."""
        ...

    def step(self, state: Any, tokens: Int[Tensor, "R"]) -> Float[Tensor, "R V"]:
        """Feed each row its last token; return the log-probabilities of the next."""
        ...

    def reorder(self, state: Any, rows: Int[Tensor, "B N"]) -> None:
        """Let row (b, n) continue what row `rows[b, n]` was."""
        ...


class ModelStepper:
    """One model as a stepper."""

    def __init__(self, model: Seq2Seq[Any]) -> None:
        self.model = model

    def start(
        self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"], max_length: int
    ) -> Any:
        return self.model.start(self.model.encode(source, source_mask), max_length)

    def step(self, state: Any, tokens: Int[Tensor, "R"]) -> Float[Tensor, "R V"]:
        logits: Tensor = self.model.output(self.model.step(state, tokens))
        log_probs = logits.log_softmax(-1)
        if log_probs[:, 0].isnan().any():  # one such score makes its whole row NaN
            raise ModelFileError(
                "the model's scores are not numbers: its weights are damaged, or its training "
                "diverged; use another checkpoint, or train with a lower train.learning_rate"
            )
        return log_probs

    def reorder(self, state: Any, rows: Int[Tensor, "B N"]) -> None:
        self.model.reorder(state, rows)


class Ensemble:
    """Several steppers that vote: the mean of their probabilities.

    log p(y) = log (1/M) Σ_m p_m(y)
    """

    def __init__(self, members: Sequence[Stepper]) -> None:
        self.members = members

    def start(
        self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"], max_length: int
    ) -> list[Any]:
        return [member.start(source, source_mask, max_length) for member in self.members]

    def step(self, state: list[Any], tokens: Int[Tensor, "R"]) -> Float[Tensor, "R V"]:
        votes = [m.step(s, tokens) for m, s in zip(self.members, state, strict=True)]
        mean = torch.logsumexp(torch.stack(votes), 0)  # R V
        return mean - math.log(len(votes))

    def reorder(self, state: list[Any], rows: Int[Tensor, "B N"]) -> None:
        for member, its_state in zip(self.members, state, strict=True):
            member.reorder(its_state, rows)
