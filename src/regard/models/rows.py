"""The rows of a decoder's state: which hypotheses go on, and to which sentences they belong."""

from typing import NamedTuple

import torch

from regard.shapes import Int, Tensor


class Move(NamedTuple):
    """What reordering does to a state; None where everything stays as it is.

    Attributes:
        rows: row i becomes what row `rows[i]` was.
        sentences: sentence i becomes what sentence `sentences[i]` was.
    """

    rows: Int[Tensor, "R"] | None
    sentences: Int[Tensor, "b"] | None

    @classmethod
    def of(cls, rows: Int[Tensor, "B N"], num_rows: int, num_sentences: int) -> "Move":
        """What `rows` asks of a state with so many rows, those of a sentence together."""
        flat = rows.flatten()
        sentences = rows[:, 0] // (num_rows // num_sentences)
        return cls(
            flat if _moves(flat, num_rows) else None,
            sentences if _moves(sentences, num_sentences) else None,
        )


def _moves(indices: Int[Tensor, "n"], num_before: int) -> bool:
    """Whether taking these indices changes anything."""
    return not torch.equal(indices, torch.arange(num_before, device=indices.device))
