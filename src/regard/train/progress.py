"""Where a training stands, in plain numbers that fit into JSON."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scores:
    """What a validation found.

    Attributes:
        step: when.
        loss: −log p a token of the validation targets.
        bleu: of greedy translations, if they were made.
    """

    step: int
    loss: float
    bleu: float | None = None

    def summary(self) -> str:
        """One phrase for a person."""
        found = f"loss {self.loss:.3f}, perplexity {math.exp(min(self.loss, 100)):.2f}"
        return found if self.bleu is None else f"{found}, BLEU {self.bleu:.1f}"

    def is_better_than(self, other: "Scores | None", stop_on: str) -> bool:
        """Whether this is the better validation by loss (lower) or by BLEU (higher)."""
        if other is None:
            return True
        if stop_on == "bleu":
            assert self.bleu is not None and other.bleu is not None
            return self.bleu > other.bleu
        return self.loss < other.loss


@dataclass(slots=True)
class Progress:
    """Everything of a training that is not a tensor.

    Attributes:
        step: optimiser steps taken.
        epoch: passes over the data completed.
        batch: batches taken from the present pass.
        tokens: target tokens learned from.
        seconds: spent training, validations apart, as `Trainer.busy` counts them.
        best_step: of the best validation so far.
        best_loss: its loss.
        best_bleu: its BLEU.
        num_worse: validations since the best one.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    tokens: int = 0
    seconds: float = 0.0
    best_step: int | None = None
    best_loss: float = 0.0
    best_bleu: float | None = None
    num_worse: int = 0

    @property
    def best(self) -> Scores | None:
        """The best validation so far."""
        if self.best_step is None:
            return None
        return Scores(self.best_step, self.best_loss, self.best_bleu)

    def note(self, scores: Scores, stop_on: str) -> bool:
        """Remember a validation; return whether it is the best so far."""
        if scores.is_better_than(self.best, stop_on):
            self.best_step, self.best_loss, self.best_bleu = scores.step, scores.loss, scores.bleu
            self.num_worse = 0
            return True
        self.num_worse += 1
        return False
