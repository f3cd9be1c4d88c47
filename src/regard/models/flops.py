"""The arithmetic of a model by formula: no padding, no recomputation, products only.

A product of an m × k and a k × n matrix is mkn multiplications with an addition each, 2mkn
operations. How many a sentence pair takes is what every architecture's config answers
(`ModelConfig.products`).
"""

from collections.abc import Sequence

from regard.models.interface import ModelConfig

BACKWARD = 2  # a product's two gradients are two products of its size


def forward_flops(config: ModelConfig, vocabulary: int, lengths: Sequence[tuple[int, int]]) -> int:
    """Operations to encode, decode and score sentence pairs, teacher-forced.

    Args:
        config: the model's shape.
        vocabulary: number of target tokens.
        lengths: of each pair, source and target, the end token included.
    """
    return 2 * sum(config.products(vocabulary, source, target) for source, target in lengths)


def training_flops(config: ModelConfig, vocabulary: int, lengths: Sequence[tuple[int, int]]) -> int:
    """Operations to learn from sentence pairs once: forwards, and back twice as much."""
    return (1 + BACKWARD) * forward_flops(config, vocabulary, lengths)


def reward_flops(
    config: ModelConfig, vocabulary: int, lengths: Sequence[tuple[int, int]], num_samples: int
) -> int:
    """Operations to draw translations of each source, and to learn from their rewards once.

        (1 + 3) · 2 Σ_i p(S_i, 0) + M (p(S_i, T_i) − p(S_i, 0)),   p the config's products

    Forwards to draw them; forwards and back to learn from them (`train.reward`). Each time what
    is made of a source alone is made once for its M translations.

    Args:
        config: the model's shape.
        vocabulary: number of target tokens.
        lengths: of each source and of its translations, the end token included.
        num_samples: M.
    """
    sources = forward_flops(config, vocabulary, [(source, 0) for source, _ in lengths])
    pairs = forward_flops(config, vocabulary, lengths)
    return (1 + 1 + BACKWARD) * (sources + num_samples * (pairs - sources))
