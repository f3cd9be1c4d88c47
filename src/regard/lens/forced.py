"""Where a model looks when it is made to write a given translation."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from regard.decoding.search import batches_by_budget
from regard.errors import ConfigError
from regard.lens.capture import Capture, capture
from regard.lens.record import kind_of
from regard.lens.words import Alignment, align_words
from regard.models.interface import Seq2Seq
from regard.shapes import Bool, Float, Int, Tensor
from regard.text.encoded import Encoded
from regard.text.pair import TokeniserPair
from regard.text.spans import Cut, word_spans

# Attention of every layer and head is held for a batch: less than decoding could take.
BATCH_TOKENS = 2048


def forced_alignment(
    model: Seq2Seq[Any],
    tokenisers: TokeniserPair,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    cut: Cut = word_spans,
    batch_tokens: int = BATCH_TOKENS,
    progress: Callable[[int], None] = lambda num_done: None,
) -> list[Alignment]:
    """Align each pair by the model's cross-attention, the target being given.

    One teacher-forced pass: the step that writes target piece t looks at the source. The
    weights are averaged over layers and heads and merged to words; each target word is
    linked to the source word it looked at most.

    Args:
        model: switched to evaluation, as it is left.
        tokenisers: of both languages.
        sources: texts.
        targets: their translations.
        cut: how both texts fall into words.
        batch_tokens: pieces, padding included, that are read at a time on the longer side.
        progress: told how many more pairs are done.

    Returns:
        An alignment for each pair, in order; without links where a side has no words.

    Raises:
        ConfigError: the model has no cross-attention.
    """
    model.eval()
    pairs = [
        (tokenisers.source.encode(source), tokenisers.target.encode(target))
        for source, target in zip(sources, targets, strict=True)
    ]
    found: dict[int, Alignment] = {}
    lengths = [max(len(source.ids), len(target.ids)) + 1 for source, target in pairs]
    for numbers in batches_by_budget(lengths, batch_tokens):
        batch = [pairs[number] for number in numbers]
        for number, weights in zip(numbers, _cross(model, tokenisers, batch), strict=True):
            source, target = pairs[number]
            found[number] = align_words(weights, target, source, cut)
        progress(len(numbers))
    return [found[number] for number in range(len(pairs))]


@torch.inference_mode()
def _cross(
    model: Seq2Seq[Any], tokenisers: TokeniserPair, pairs: Sequence[tuple[Encoded, Encoded]]
) -> Iterator[Float[Tensor, "T S"]]:
    """The mean cross-attention of each pair of a batch, end tokens included."""
    start, end = (tokenisers.target.bos,), (tokenisers.source.eos,)
    source, source_mask = _padded([source.ids + end for source, _ in pairs], tokenisers.source.pad)
    target, target_mask = _padded(
        [start + target.ids for _, target in pairs], tokenisers.target.pad
    )
    device = model.output.weight.device
    with capture(model) as seen:
        memory = model.encode(source.to(device), source_mask.to(device))
        model.decode(memory, target.to(device), target_mask.to(device))
    mean = _mean_cross(seen)  # B T S
    for row, (source_text, target_text) in enumerate(pairs):
        yield mean[row, : len(target_text.ids) + 1, : len(source_text.ids) + 1]


def _mean_cross(seen: Capture) -> Float[Tensor, "B T S"]:
    """The mean over the layers and heads of cross-attention.

    A decoder that needs what it saw before it can look again looks once a step.
    """
    crosses = [
        torch.cat(calls, 2) for site, calls in seen.calls.items() if kind_of(site) == "cross"
    ]
    if not crosses:
        raise ConfigError("the model has no cross-attention; an alignment needs some")
    return torch.stack(crosses).mean((0, 2))


def _padded(
    rows: Sequence[tuple[int, ...]], pad: int
) -> tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"]]:
    """Rows of tokens side by side, and where they are real."""
    width = max(map(len, rows))
    tokens = torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    return tokens, torch.arange(width) < lengths.unsqueeze(1)
