"""A finished sentence, and the way the search came to it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One output of a search.

    Attributes:
        tokens: the tokens chosen, the end token not among them.
        score: what the search ranks by: the log-probability over the length penalty.
        log_probs: of each token and, last, of the end token.
        rows: which row of the decoder's state this hypothesis was at each step, in order;
            `regard.lens` reads the attention of a beam by it.
    """

    tokens: tuple[int, ...]
    score: float
    log_probs: tuple[float, ...]
    rows: tuple[int, ...]

    @property
    def log_prob(self) -> float:
        """Of the whole sentence, end token included."""
        return sum(self.log_probs)
