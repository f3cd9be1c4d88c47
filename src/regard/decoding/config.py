"""How to search."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt
from typing_extensions import Doc

from regard.decoding.penalty import PenaltyKind
from regard.errors import ConfigError

# Far beyond what finds better translations; a run file cannot ask for all of memory.
MAX_BEAM = 1_000


@dataclass(frozen=True, kw_only=True)
class DecodingConfig:
    """How to search for a translation; a beam of 1 is greedy search."""

    beam: Annotated[int, Gt(0), Le(MAX_BEAM), Doc("hypotheses kept at each step; 1 is greedy")] = 4
    penalty: Annotated[
        PenaltyKind, Doc("divide a log-probability by lengthᵅ, or by GNMT's ((5 + length)/6)ᵅ")
    ] = "length"
    alpha: Annotated[float, Ge(0), Le(10), Doc("strength of the length penalty; 0 is none")] = 1.0
    coverage: Annotated[
        float, Ge(0), Le(10), Doc("strength of GNMT's coverage penalty among the finished; 0: none")
    ] = 0.0
    consensus: Annotated[
        float,
        Ge(0),
        Le(100),
        Doc("choose what all found agree with, each counted as exp(consensus · score); 0: do not"),
    ] = 0.0
    n_best: Annotated[int, Gt(0), Le(MAX_BEAM), Doc("hypotheses returned a sentence")] = 1
    early_exit: Annotated[
        bool,
        Doc("stop at the first n = beam finished hypotheses; else when no other can still win"),
    ] = False
    max_ratio: Annotated[
        float, Ge(0), Le(100), Doc("a target has at most ratio · source + extra pieces")
    ] = 2.0
    max_extra: Annotated[int, Gt(0), Le(10_000), Doc("see max_ratio")] = 20
    sample: Annotated[bool, Doc("draw tokens at random instead of searching")] = False
    temperature: Annotated[float, Gt(0), Doc("of sampling; below 1 is safer, above 1 wilder")] = 1.0
    top_k: Annotated[int, Ge(0), Doc("sample among the k most probable tokens; 0 is all")] = 0
    top_p: Annotated[
        float, Gt(0), Le(1), Doc("sample among the most probable tokens that make up p")
    ] = 1.0
    seed: Annotated[int, Ge(0), Lt(2**63), Doc("of sampling")] = 1
    replace_unknown: Annotated[
        bool, Doc("write the attended source word where the model writes an unknown one (PosUnk)")
    ] = False
    split_sentences: Annotated[
        bool, Doc("translate a text sentence by sentence; false takes each line whole")
    ] = True
    batch_tokens: Annotated[
        int, Gt(0), Le(1_000_000), Doc("source tokens decoded together, a beam apart")
    ] = 2048

    def __post_init__(self) -> None:
        if not self.sample and self.n_best > self.beam:
            raise ConfigError(
                f"n_best = {self.n_best} is more than beam = {self.beam}; "
                f"a beam of {self.n_best} keeps that many"
            )

    @property
    def needs_attention(self) -> bool:
        """Whether the search itself is told where the models look; samples are not ranked."""
        return self.replace_unknown or (self.coverage > 0 and not self.sample)

    def max_length(self, num_source: int) -> int:
        """The most target tokens, end token included, for a source of this many.

        It depends on the sentence alone, never on its neighbours in a batch.
        """
        return int(self.max_ratio * num_source) + self.max_extra
