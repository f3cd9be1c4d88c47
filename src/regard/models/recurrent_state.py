"""Where a recurrent decoder stands between two steps."""

from dataclasses import dataclass

import torch

from regard.attention import KeyValue
from regard.models.rows import Move
from regard.nn.recurrent import State
from regard.shapes import Bool, Float, Int, Tensor


@dataclass(slots=True)
class RecurrentState:
    """The state of a decoder whose past is a few vectors.

    Attributes:
        rows: those vectors, one row a hypothesis.
        memory: attention's keys and values, one row a sentence; None without attention.
        mask: True at real source positions.
        length: how many steps were taken.
    """

    rows: State
    memory: KeyValue | None = None
    mask: Bool[Tensor, "B 1 1 S"] | None = None
    length: int = 0

    def advance(self, rows: State) -> None:
        """One more step was taken, and this is what came of it."""
        self.rows = rows
        self.length += 1

    def by_sentence(self, x: Float[Tensor, "R D"]) -> Float[Tensor, "B N D"]:
        """The hypotheses of one sentence as so many queries to one memory, which is not copied."""
        assert self.mask is not None, "this decoder looks at a memory"
        return x.view(len(self.mask), -1, x.shape[-1])

    def positions(self, num_queries: int) -> Int[Tensor, "N"]:
        """All queries of a step stand at that step."""
        return torch.full((num_queries,), self.length, device=self.rows[0].device)

    def reorder(self, rows: Int[Tensor, "B N"]) -> None:
        """Let rows continue other rows, and drop the sentences that none belongs to."""
        num_rows = len(self.rows[0])
        move = Move.of(rows, num_rows, num_rows if self.mask is None else len(self.mask))
        if move.rows is not None:
            self.rows = tuple(each[move.rows] for each in self.rows)
        if move.sentences is not None and self.memory is not None and self.mask is not None:
            self.memory = self.memory.select(move.sentences)
            self.mask = self.mask[move.sentences]
