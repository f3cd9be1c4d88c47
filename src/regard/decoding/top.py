"""The best continuations of a sentence's hypotheses, without a look at each one."""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from regard.errors import ModelFileError
from regard.native import kernels
from regard.plain import is_plain
from regard.shapes import Float, Int, Tensor

# Tokens whose largest score is found first: as many as a few instructions of the processor take.
BLOCK = 64
# Where there are fewer scores than this, all are looked at.
FEW_SCORES = 2**16


class Best(NamedTuple):
    """The best continuations of each sentence, best first.

    Attributes:
        totals: log-probability of the hypothesis and its next token.
        lanes: which of the sentence's hypotheses is continued.
        tokens: with what.
    """

    totals: Float[Tensor, "B k"]
    lanes: Int[Tensor, "B k"]
    tokens: Int[Tensor, "B k"]


def best_continuations(
    scores: Float[Tensor, "B N"], log_probs: Float[Tensor, "B N V"], count: int
) -> Best:
    """The `count` largest of scores[b, n] + log_probs[b, n, v] of each sentence b.

    The plain way adds N · V numbers and sorts through them. Here the vocabulary is cut into
    blocks. The k largest numbers lie in the k blocks whose largest numbers are largest; so one
    fast pass finds each block's largest, and only k blocks are looked into. The compiled kernel
    does likewise.
    """
    vocabulary = log_probs.shape[-1]
    if kernels.can_take(scores, log_probs) and count <= log_probs[0].numel():
        totals, place = kernels.best_continuations(scores, log_probs, count)
        return Best(totals, place // vocabulary, place % vocabulary)
    is_few = log_probs.numel() < FEW_SCORES or vocabulary < BLOCK * count
    if is_plain() or is_few:
        totals = (scores.unsqueeze(-1) + log_probs).flatten(1)  # B N·V
        best, place = totals.topk(min(count, totals.shape[1]))
        return Best(best, place // vocabulary, place % vocabulary)
    # The last block may be shorter.
    num_full = vocabulary // BLOCK * BLOCK
    blocks = [log_probs[..., :num_full].unflatten(-1, (-1, BLOCK)).amax(-1)]
    if num_full < vocabulary:
        blocks.append(log_probs[..., num_full:].amax(-1, keepdim=True))
    largest = torch.cat(blocks, -1) + scores.unsqueeze(-1)  # B N M
    chosen = largest.flatten(1).topk(count).indices  # B k
    lanes, first = chosen // largest.shape[-1], chosen % largest.shape[-1] * BLOCK
    # 64 tokens from the first of each block, or the last 64; these reach into the block before.
    tokens = first.clamp(max=vocabulary - BLOCK).unsqueeze(-1) + torch.arange(
        BLOCK, device=first.device
    )  # B k 64
    places = (lanes * vocabulary).unsqueeze(-1) + tokens
    totals = log_probs.flatten(1).gather(1, places.flatten(1)).view_as(tokens)
    totals += scores.gather(1, lanes).unsqueeze(-1)
    if num_full < vocabulary:
        totals.masked_fill_(tokens < first.unsqueeze(-1), -torch.inf)
    best, place = totals.flatten(1).topk(count)
    return Best(best, lanes.gather(1, place // BLOCK), tokens.flatten(1).gather(1, place))


def best_token(log_probs: Float[Tensor, "R V"]) -> Int[Tensor, "R"]:
    """The most probable token of each row."""
    if log_probs.numel() < FEW_SCORES:
        return log_probs.argmax(-1)
    best = best_continuations(log_probs.new_zeros(len(log_probs), 1), log_probs.unsqueeze(1), 1)
    return best.tokens.squeeze(1)


def check_numbers(totals: Sequence[float]) -> None:
    """Refuse a model that gives scores which are no numbers; one makes its whole row NaN.

    Raises:
        ModelFileError: it does.
    """
    if any(total != total for total in totals):
        raise ModelFileError(
            "the model's scores are not numbers: its weights are damaged, or its training "
            "diverged; use another checkpoint, or train with a lower train.learning_rate"
        )
