"""IBM Model 1: every target word picks a source word, wherever it stands."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from regard.align.bitext import Bitext, Words, shaped_blocks
from regard.align.lexicon import SMOOTHING, Lexicon
from regard.align.links import Links, links_of
from regard.align.training import Iteration, Progress, say_nothing

ITERATIONS = 5


@dataclass(frozen=True, slots=True)
class Model1:
    """IBM Model 1.

        p(f_1 … f_J | e_1 … e_I) = ε / (I + 1)^J · Π_j Σ_{i=0..I} t(f_j | e_i),    e_0 = NULL

    Brown et al. 1993, section 4.1, equation 16. Here e is the source, f the target, and
    ε = 1: the length of the target is given.
    """

    lexicon: Lexicon

    def align(self, sources: Sequence[Words], targets: Sequence[Words]) -> list[Links]:
        """The most probable alignment of each pair: argmax_i t(f_j | e_i) for each j.

        A target word that NULL explains best is left alone.
        """
        links: list[Links] = [frozenset()] * len(sources)
        lexicon = self.lexicon
        for numbers, source, target in shaped_blocks(
            sources, targets, lexicon.source_index, lexicon.target_index
        ):
            table = lexicon.table(source, target)  # N J I1
            for number, choices in zip(numbers.tolist(), table.argmax(2), strict=True):
                links[number] = links_of(choices)
        return links


def train_model1(
    bitext: Bitext,
    *,
    iterations: int = ITERATIONS,
    smoothing: float = SMOOTHING,
    progress: Progress = say_nothing,
) -> Model1:
    """Fit t by EM, from a uniform start.

    Without smoothing the likelihood never falls, and as it is concave in t the start does
    not matter in the limit (Brown et al. 1993, section 4.1). With smoothing that holds for
    the likelihood times the prior, see `Lexicon.fitted`.

    Args:
        bitext: what to learn from.
        iterations: passes over it.
        smoothing: added to every count.
        progress: told of every pass.
    """
    lexicon = Lexicon.uniform(bitext)
    for number in range(1, iterations + 1):
        counts, log_likelihood = expected_counts(bitext, lexicon.probabilities)
        lexicon = lexicon.fitted(counts, smoothing)
        progress(Iteration("Model 1", number, iterations, log_likelihood, bitext.num_target_tokens))
    return Model1(lexicon)


def expected_counts(
    bitext: Bitext, table: Float64[np.ndarray, " P"]
) -> tuple[Float64[np.ndarray, " P"], float]:
    """How often each source word is expected to have made each target word.

        c(f | e) = Σ t(f | e) / Σ_i t(f | e_i)

    summed over the places of the corpus where the two stand together (Brown et al. 1993,
    section 4.1, equation 17).

    Returns:
        The counts, in the order of the table, and the log-likelihood of the corpus.
    """
    counts = np.zeros(len(table))
    log_likelihood = 0.0
    for block in bitext.blocks:
        cells = block.cells.astype(np.intp)
        joint = table[cells]  # N J I1
        evidence = joint.sum(2, keepdims=True)  # N J 1
        np.add.at(counts, cells.ravel(), (joint / evidence).ravel())
        log_likelihood += float(np.log(evidence / cells.shape[2]).sum())
    return counts, log_likelihood
