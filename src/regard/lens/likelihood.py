"""How probable a model finds given translations: one number, to compare models by."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from regard.decoding.search import batches_by_budget
from regard.lens.forced import BATCH_TOKENS, padded
from regard.models.interface import Seq2Seq
from regard.text.encoded import Encoded
from regard.text.pair import TokeniserPair


@torch.inference_mode()
def forced_loss(
    model: Seq2Seq[Any],
    tokenisers: TokeniserPair,
    pairs: Sequence[tuple[Encoded, Encoded]],
    batch_tokens: int = BATCH_TOKENS,
) -> float:
    """The mean −ln p(y_t | y_1 … y_{t−1}, x) over all target pieces and ends.

    Args:
        model: switched to evaluation, as it is left.
        tokenisers: of both languages.
        pairs: sources and their translations.
        batch_tokens: pieces, padding included, that are read at a time on the longer side.
    """
    model.eval()
    device = model.output.weight.device
    bos, eos = tokenisers.target.bos, tokenisers.target.eos
    lengths = [max(len(source.ids), len(target.ids)) + 1 for source, target in pairs]
    total, num_tokens = 0.0, 0
    for numbers in batches_by_budget(lengths, batch_tokens):
        batch = [pairs[number] for number in numbers]
        ends = [(*source.ids, tokenisers.source.eos) for source, _ in batch]
        source, source_mask = padded(ends, tokenisers.source.pad)
        fed, mask = padded([(bos, *target.ids) for _, target in batch], tokenisers.target.pad)
        written, _ = padded([(*target.ids, eos) for _, target in batch], tokenisers.target.pad)
        logits = model.forward(
            source.to(device), source_mask.to(device), fed.to(device), mask.to(device)
        )
        total += float(F.cross_entropy(logits[mask], written[mask].to(device), reduction="sum"))
        num_tokens += int(mask.sum())
    return total / max(num_tokens, 1)
