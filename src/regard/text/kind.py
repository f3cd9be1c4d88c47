"""The names of the kinds of tokenisers, as a run file writes them."""

from typing import Literal

SubwordKind = Literal["bpe", "unigram"]
Kind = Literal["bpe", "unigram", "words", "characters", "bytes", "marian"]
