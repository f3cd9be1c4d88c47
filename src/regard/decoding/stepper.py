"""What a search drives: something that gives log-probabilities one token at a time."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import torch

from regard.attention import Attend
from regard.decoding.compact import Compact, CompactState, has_compact_form
from regard.models.interface import Seq2Seq
from regard.models.transformer import Transformer
from regard.native import kernels
from regard.plain import is_plain
from regard.shapes import Bool, Float, Int, Tensor


@runtime_checkable
class Stepper(Protocol):
    """One row a hypothesis; the rows of one sentence stand together."""

    def prepare(self) -> None:
        """Make now whatever is made once, so that workers forked hereafter share it."""
        ...

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
    """One model as a stepper.

    A Transformer is decoded in its compact form (`decoding.compact`), made of its weights as they
    are when decoding first starts. The model itself runs, equal to float tolerance, while its
    attention is watched, where the plain formulas are asked for, and for everything else.
    """

    def __init__(self, model: Seq2Seq[Any]) -> None:
        self.model = model
        self._compact: Compact | None = None

    def start(
        self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"], max_length: int
    ) -> Any:
        if is_plain() or not self._can_be_compact():
            return self.model.start(self.model.encode(source, source_mask), max_length)
        return self.compact().start(source, source_mask)

    def compact(self) -> Compact:
        """The compact form, made if there is none."""
        if self._compact is None:
            assert isinstance(self.model, Transformer)
            self._compact = Compact(self.model)
        return self._compact

    def prepare(self) -> None:
        if self._can_be_compact():
            self.compact().prepare()

    def _can_be_compact(self) -> bool:
        """Whether the compact form has all that is needed now."""
        attends = self._attends
        return attends is not None and all(each.is_plain_scaled_dot for each in attends)

    @cached_property
    def _attends(self) -> list[Attend] | None:
        """Where the model takes its attention; None if it has no compact form."""
        if not has_compact_form(self.model):
            return None
        return [module for module in self.model.modules() if isinstance(module, Attend)]

    def hidden(self, state: Any, tokens: Int[Tensor, "R"]) -> Float[Tensor, "R D"]:
        """Feed each row its last token; return what the output layer is given."""
        if isinstance(state, CompactState):
            return self.compact().step(state, tokens)
        states: Tensor = self.model.step(state, tokens)
        return states

    def step(self, state: Any, tokens: Int[Tensor, "R"]) -> Float[Tensor, "R V"]:
        hidden = self.hidden(state, tokens)
        if not isinstance(state, CompactState):
            scores: Tensor = self.model.output(hidden)
            return scores.log_softmax(-1)
        logits = self.compact().output(hidden)
        if kernels.can_take(logits):
            return kernels.log_softmax_(logits)
        return torch.log_softmax(logits, -1, out=logits)  # in place: they are many

    def reorder(self, state: Any, rows: Int[Tensor, "B N"]) -> None:
        if isinstance(state, CompactState):
            self.compact().reorder(state, rows)
        else:
            self.model.reorder(state, rows)


class Ensemble:
    """Several steppers that vote: the mean of their probabilities.

    log p(y) = log (1/M) Σ_m p_m(y)
    """

    def __init__(self, members: Sequence[Stepper]) -> None:
        self.members = members

    def prepare(self) -> None:
        for member in self.members:
            member.prepare()

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
