"""The head that aligns best, found without gold alignments."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from regard.align.links import Links
from regard.errors import ConfigError
from regard.lens.forced import Reading, encode_pairs, forced_attention
from regard.lens.words import align_words
from regard.models.interface import Seq2Seq
from regard.text.pair import TokeniserPair
from regard.text.spans import Cut, word_spans

ENOUGH_PAIRS = 1000
"""Pairs that heads are compared on; with more the choice does not change."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A head, and how far its alignments agree with the reference.

    Attributes:
        reading: its layer and head.
        agreement: 2 |A ∩ B| / (|A| + |B|) over the links of all pairs, from 0 to 1.
    """

    reading: Reading
    agreement: float


def rank_heads(
    model: Seq2Seq[Any],
    tokenisers: TokeniserPair,
    sources: Sequence[str],
    targets: Sequence[str],
    reference: Sequence[Links],
    *,
    is_shifted: bool = False,
    cut: Cut = word_spans,
    progress: Callable[[int], None] = lambda num_done: None,
) -> list[Choice]:
    """Every cross-attention head by how well it agrees with another aligner, best first.

    The reference comes from a statistical aligner (`regard.align`), so no gold is spent on the
    choice.

    Args:
        model: switched to evaluation, as it is left.
        tokenisers: of both languages.
        sources: texts.
        targets: their translations.
        reference: the links of each pair, source first.
        is_shifted: whether target words are read at the step that is fed them.
        cut: how both texts fall into words, as it was for the reference.
        progress: told how many more pairs are done.

    Raises:
        ConfigError: the model has no cross-attention, or there is no text.
    """
    pairs = encode_pairs(tokenisers, sources, targets)
    num_common: Counter[Reading] = Counter()
    num_found: Counter[Reading] = Counter()
    num_expected = 0
    for number, weights in forced_attention(model, tokenisers, pairs):
        source, target = pairs[number]
        num_expected += len(reference[number])
        for layer in range(1, weights.shape[0] + 1):
            for head in range(1, weights.shape[1] + 1):
                reading = Reading(layer, head, is_shifted)
                links = align_words(reading.read(weights), target, source, cut).links
                num_found[reading] += len(links)
                num_common[reading] += len(reference[number].intersection(links))
        progress(1)
    if not num_found:
        raise ConfigError("there is no text to choose a head on; give some")
    choices = [
        Choice(reading, 2 * num_common[reading] / max(count + num_expected, 1))
        for reading, count in num_found.items()
    ]
    return sorted(choices, key=lambda choice: -choice.agreement)
