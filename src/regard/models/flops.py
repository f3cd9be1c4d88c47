"""The arithmetic of a Transformer by formula: no padding, no recomputation, products only.

A product of an m × k and a k × n matrix is 2mkn operations. With n tokens of width d, hidden
width f and a vocabulary of V:

    projections of self-attention   4 d² a token        feed-forward   2 d f a token
    QKᵀ and αV                      2 n d a token       output layer   V d a token

so the cost of a layer is n · d² + n² · d up to constants: while the sentence is shorter than
the model is wide, attention itself is the cheap part (Vaswani et al. 2017, table 1).
"""

from collections.abc import Sequence

from regard.models.transformer import TransformerConfig

BACKWARD = 2  # a product's two gradients are two products of its size


def forward_flops(
    config: TransformerConfig, vocabulary: int, lengths: Sequence[tuple[int, int]]
) -> int:
    """Operations to encode, decode and score sentence pairs, teacher-forced.

    Args:
        config: the model's shape.
        vocabulary: number of target tokens.
        lengths: of each pair, source and target, the end token included.
    """
    return sum(_pair(config, vocabulary, source, target) for source, target in lengths)


def training_flops(
    config: TransformerConfig, vocabulary: int, lengths: Sequence[tuple[int, int]]
) -> int:
    """Operations to learn from sentence pairs once: forwards, and back twice as much."""
    return (1 + BACKWARD) * forward_flops(config, vocabulary, lengths)


def _pair(config: TransformerConfig, vocabulary: int, source: int, target: int) -> int:
    d, f = config.d_model, config.d_ff
    encoder = source * (4 * d * d + 2 * d * f) + 2 * source * source * d
    # A causal query looks at (T + 1) / 2 keys in the mean.
    self_attention = target * 4 * d * d + target * (target + 1) * d
    cross_attention = (2 * target + 2 * source) * d * d + 2 * target * source * d
    decoder = self_attention + cross_attention + target * 2 * d * f
    products = config.encoder_layers * encoder + config.decoder_layers * decoder
    return 2 * (products + target * vocabulary * d)
