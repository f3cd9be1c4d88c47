"""How text is cut: the `[text]` table of a run file."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt, Le
from typing_extensions import Doc

from regard.errors import ConfigError
from regard.text.kind import Kind
from regard.text.normal import Form


@dataclass(frozen=True, kw_only=True)
class TextConfig:
    """The tokenisers of a run."""

    kind: Annotated[
        Kind, Doc("what a piece of text is; marian comes from `regard convert` alone")
    ] = "bpe"
    vocab_size: Annotated[
        int,
        Gt(4),
        Doc("the most pieces a vocabulary may have, four special ones included; bytes need none"),
    ] = 8000
    joint: Annotated[bool, Doc("one vocabulary for source and target together")] = True
    sampling: Annotated[
        float,
        Ge(0),
        Le(1),
        Doc(
            "cut training text differently in every epoch: BPE-dropout's probability (try 0.1), "
            "or unigram's smoothing α (try 0.2); 0 = off"
        ),
    ] = 0.0
    normalise: Annotated[
        Form,
        Doc(
            "nfkc reads ﬁ as fi, ① as 1, full-width as half-width; lower knows no capitals, as "
            "papers on Multi30k; none loses nothing"
        ),
    ] = "none"

    def __post_init__(self) -> None:
        if self.sampling > 0 and self.kind not in ("bpe", "unigram"):
            raise ConfigError(
                f"text.sampling = {self.sampling} needs text.kind = 'bpe' or 'unigram', which cut "
                f"a text in more than one way; text.kind = {self.kind!r} takes text.sampling = 0"
            )
