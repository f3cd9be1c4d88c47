"""Where a model looks when it is made to write a given translation."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from regard.decoding.search import batches_by_budget
from regard.errors import ConfigError
from regard.lens.capture import Capture, capture
from regard.lens.record import AttentionRecord, Kind, kind_of
from regard.lens.words import Alignment, align_words
from regard.models.interface import Seq2Seq
from regard.shapes import Bool, Float, Int, Tensor
from regard.text.encoded import Encoded
from regard.text.pair import TokeniserPair
from regard.text.spans import Cut, word_spans

# Attention of every layer and head is held for a batch: less than decoding could take.
BATCH_TOKENS = 2048


@dataclass(frozen=True, slots=True)
class Reading:
    """Which cross-attention is read as an alignment, and at which step.

    Attributes:
        layer: counted from 1; None for the mean over layers.
        head: counted from 1; None for the mean over heads.
        is_shifted: a target word is read at the step that is fed it and not at the step that
            writes it: where the decoder has not seen the word yet, it can only guess what it
            will align (Chen et al. 2020, section 3.1, SHIFT-ATT).
    """

    layer: int | None = None
    head: int | None = None
    is_shifted: bool = False

    def read(self, weights: Float[Tensor, "L H T1 S"]) -> Float[Tensor, "T S"]:
        """The rows of the target pieces, out of those of every step from start to end.

        Raises:
            ConfigError: the model has no such layer or head.
        """
        for name, number, count in zip(
            ("layer", "head"), (self.layer, self.head), weights.shape, strict=False
        ):
            if number is not None and not 1 <= number <= count:
                raise ConfigError(f"{name} {number:,} does not exist; expected 1 to {count:,}")
        layers = slice(None) if self.layer is None else slice(self.layer - 1, self.layer)
        heads = slice(None) if self.head is None else slice(self.head - 1, self.head)
        mean = weights[layers, heads].mean((0, 1))
        return mean[1:] if self.is_shifted else mean[:-1]


MEAN = Reading()


def forced_alignment(
    model: Seq2Seq[Any],
    tokenisers: TokeniserPair,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    reading: Reading = MEAN,
    cut: Cut = word_spans,
    batch_tokens: int = BATCH_TOKENS,
    progress: Callable[[int], None] = lambda num_done: None,
) -> list[Alignment]:
    """Align each pair by the model's cross-attention, the target being given.

    One teacher-forced pass; the weights that `reading` names are merged to words, and each
    target word is linked to the source word it looked at most.

    Args:
        model: switched to evaluation, as it is left.
        tokenisers: of both languages.
        sources: texts.
        targets: their translations.
        reading: which weights.
        cut: how both texts fall into words.
        batch_tokens: pieces, padding included, that are read at a time on the longer side.
        progress: told how many more pairs are done.

    Returns:
        An alignment for each pair, in order; without links where a side has no words.

    Raises:
        ConfigError: the model has no cross-attention, or no such layer or head.
    """
    pairs = encode_pairs(tokenisers, sources, targets)
    found: dict[int, Alignment] = {}
    for number, weights in forced_attention(model, tokenisers, pairs, batch_tokens):
        source, target = pairs[number]
        found[number] = align_words(reading.read(weights), target, source, cut)
        progress(1)
    return [found[number] for number in range(len(pairs))]


def encode_pairs(
    tokenisers: TokeniserPair, sources: Sequence[str], targets: Sequence[str]
) -> list[tuple[Encoded, Encoded]]:
    """Both sides of each pair in pieces."""
    return [
        (tokenisers.source.encode(source), tokenisers.target.encode(target))
        for source, target in zip(sources, targets, strict=True)
    ]


def forced_attention(
    model: Seq2Seq[Any],
    tokenisers: TokeniserPair,
    pairs: Sequence[tuple[Encoded, Encoded]],
    batch_tokens: int = BATCH_TOKENS,
) -> Iterator[tuple[int, Float[Tensor, "L H T1 S"]]]:
    """The cross-attention of each pair, with its number; the longest pairs come first.

    There is a row for each step, the first fed the start token and the last the last piece,
    and a column for each source piece and its end token.

    Raises:
        ConfigError: the model has no cross-attention.
    """
    model.eval()
    lengths = [max(len(source.ids), len(target.ids)) + 1 for source, target in pairs]
    for numbers in batches_by_budget(lengths, batch_tokens):
        batch = [pairs[number] for number in numbers]
        weights = _cross(_watched(model, tokenisers, batch))  # B L H T S
        for number, each, (source, target) in zip(numbers, weights, batch, strict=True):
            yield number, each[:, :, : len(target.ids) + 1, : len(source.ids) + 1]


def forced_record(
    model: Seq2Seq[Any], tokenisers: TokeniserPair, source: Encoded, target: Encoded
) -> AttentionRecord:
    """Everything that a model looks at while it is made to write one given translation."""
    model.eval()
    layers: dict[Kind, list[Tensor]] = {}
    for site, weights in _whole(_watched(model, tokenisers, [(source, target)])).items():
        layers.setdefault(kind_of(site), []).append(weights[0])
    return AttentionRecord(
        (*source.pieces, tokenisers.source.piece(tokenisers.source.eos)),
        (*target.pieces, tokenisers.target.piece(tokenisers.target.eos)),
        {kind: torch.stack(each) for kind, each in layers.items()},
    )


@torch.inference_mode()
def _watched(
    model: Seq2Seq[Any], tokenisers: TokeniserPair, pairs: Sequence[tuple[Encoded, Encoded]]
) -> Capture:
    """All attention of one teacher-forced pass over a batch."""
    start, end = (tokenisers.target.bos,), (tokenisers.source.eos,)
    source, source_mask = padded([source.ids + end for source, _ in pairs], tokenisers.source.pad)
    target, target_mask = padded([start + target.ids for _, target in pairs], tokenisers.target.pad)
    device = model.output.weight.device
    with capture(model) as seen:
        memory = model.encode(source.to(device), source_mask.to(device))
        model.decode(memory, target.to(device), target_mask.to(device))
    return seen


def _whole(seen: Capture) -> dict[str, Float[Tensor, "B H T S"]]:
    """The weights of each site, all steps together.

    A decoder that needs what it saw before it can look again looks once a step.
    """
    return {site: torch.cat(calls, 2) for site, calls in seen.calls.items()}


def _cross(seen: Capture) -> Float[Tensor, "B L H T S"]:
    crosses = [weights for site, weights in _whole(seen).items() if kind_of(site) == "cross"]
    if not crosses:
        raise ConfigError("the model has no cross-attention; an alignment needs some")
    return torch.stack(crosses, 1)


def padded(
    rows: Sequence[tuple[int, ...]], pad: int
) -> tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"]]:
    """Rows of tokens side by side, and where they are real."""
    width = max(map(len, rows))
    tokens = torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    return tokens, torch.arange(width) < lengths.unsqueeze(1)
