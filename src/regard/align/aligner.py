"""A statistical aligner: learned in the directions that are needed, asked for links."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.align.bitext import Bitext, Words
from regard.align.hmm import HMM, train_hmm
from regard.align.links import Links, transposed
from regard.align.model1 import Model1, train_model1
from regard.align.options import BOTH_DIRECTIONS, Method, Symmetrisation
from regard.align.symmetrise import symmetrise
from regard.align.training import Progress, say_nothing


@dataclass(frozen=True, slots=True)
class Aligner:
    """Two directed models and how to combine what they say.

    Attributes:
        forward: p(target | source); None where only the other is asked.
        reverse: p(source | target), likewise.
        how: the symmetrisation.
    """

    forward: Model1 | HMM | None
    reverse: Model1 | HMM | None
    how: Symmetrisation

    def align(self, sources: Sequence[Words], targets: Sequence[Words]) -> list[Links]:
        """The links of each sentence pair, in order; none for an empty or an over-long one."""
        nothing: list[Links] = [frozenset()] * len(sources)
        forward = self.forward.align(sources, targets) if self.forward else nothing
        reverse = self.reverse.align(targets, sources) if self.reverse else nothing
        return [
            symmetrise(there, transposed(back), self.how)
            for there, back in zip(forward, reverse, strict=True)
        ]


def train_aligner(
    sources: Sequence[Words],
    targets: Sequence[Words],
    *,
    method: Method = "hmm",
    how: Symmetrisation = BOTH_DIRECTIONS,
    progress: Progress = say_nothing,
) -> Aligner:
    """Learn to align from sentence pairs alone.

    Args:
        sources: the words of each source sentence, in the case they are to be counted in.
        targets: the words of their translations.
        method: IBM Model 1, or the HMM trained from it.
        how: which directions are trained, and how their links are combined.
        progress: told of every pass over the corpus.
    """
    forward = None if how == "reverse" else train_direction(sources, targets, method, progress)
    reverse = None if how == "forward" else train_direction(targets, sources, method, progress)
    return Aligner(forward, reverse, how)


def train_direction(
    sources: Sequence[Words], targets: Sequence[Words], method: Method, progress: Progress
) -> Model1 | HMM:
    """One directed model, p(target | source)."""
    bitext = Bitext.of(sources, targets)
    model1 = train_model1(bitext, progress=progress)
    if method == "model1":
        return model1
    return train_hmm(bitext, model1.lexicon, progress=progress)
