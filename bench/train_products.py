"""The matrix products of a training step and nothing else: the wall that every loop runs into."""

from collections.abc import Callable, Iterator
from functools import cache

import torch

from regard.data.batching import Batch
from regard.machine import tune_allocator
from regard.models.transformer import TransformerConfig
from regard.native.floats import PackedFloats
from regard.native.linear import can_multiply
from regard.native.outer import sum_outer_products
from regard.train.cores import Cores
from regard.train.loss import CHUNK_TOKENS, Loss
from regard.train.shards import Shards

# More rows than a part of a batch has, padding counted.
MOST_ROWS = 2**13


def products_step(config: TransformerConfig, vocabulary: int) -> Callable[[Batch], float]:
    """Every product of Regard's step, the batch cut among the cores as there.

    No attention, norm, dropout, softmax or optimiser; numbers that lie in the cache already, and
    matrices that are packed already. A loop with the same products takes at least as long.
    """
    tune_allocator()
    nothing = torch.zeros(1, requires_grad=True)
    most = max(MOST_ROWS * max(3 * config.d_model, config.d_ff), CHUNK_TOKENS * vocabulary)
    numbers = torch.rand(most)

    def some(rows: int, columns: int) -> torch.Tensor:
        return numbers[: rows * columns].view(rows, columns)

    @cache
    def packed(outputs: int, inputs: int) -> tuple[PackedFloats, PackedFloats]:
        weight = some(outputs, inputs)
        return PackedFloats(weight), PackedFloats(weight, is_turned=True)

    def multiply(part: Batch) -> Loss:
        with torch.no_grad():
            for rows, inputs, outputs in products(config, vocabulary, part):
                x, weight, d_y = some(rows, inputs), some(outputs, inputs), some(rows, outputs)
                if can_multiply(x, weight, is_low=False):
                    forwards, back = packed(outputs, inputs)
                    forwards(x)  # y
                    back(d_y)  # ∂loss/∂x
                    sum_outer_products(d_y, x)  # ∂loss/∂W
                else:
                    torch.mm(x, weight.T)
                    torch.mm(d_y, weight)
                    torch.mm(d_y.T, x)
        return Loss(nothing.sum(), nothing.detach().sum())

    shards = Shards(multiply, [nothing], Cores(torch.get_num_threads()))
    return lambda batch: shards.learn(batch, 1.0).smoothed


def products(
    config: TransformerConfig, vocabulary: int, part: Batch
) -> Iterator[tuple[int, int, int]]:
    """Rows, inputs and outputs of every linear layer, as the trainer multiplies them."""
    d, f = config.d_model, config.d_ff
    source, target = part.source.size, part.target_in.size
    for _ in range(config.encoder_layers):
        yield from _block(source, d, f)
    for _ in range(config.decoder_layers):
        yield from _block(target, d, f)
        yield target, d, d  # cross-attention: queries
        yield source, d, 2 * d  # keys and values
        yield target, d, d  # output
    real = int(part.target_mask.sum())
    for begin in range(0, real, CHUNK_TOKENS):
        yield min(CHUNK_TOKENS, real - begin), d, vocabulary


def _block(rows: int, d: int, f: int) -> Iterator[tuple[int, int, int]]:
    """Self-attention's projections, three of them side by side, and the feed-forward network's."""
    yield from ((rows, d, 3 * d), (rows, d, d), (rows, d, f), (rows, f, d))
