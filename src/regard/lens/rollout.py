"""Attention rollout: what reaches a position through all layers, residual connections included."""

from regard.lens.record import AttentionRecord, Kind
from regard.shapes import Float, Tensor


def rollout(record: AttentionRecord) -> dict[Kind, Float[Tensor, "T S"]]:
    """How much of each input is mixed into each output, if only attention moved information.

        Ã_l = ½ A_l + ½ I          R_l = Ã_l R_{l−1},   R_0 = I

    Abnar & Zuidema 2020, section 3: A_l is the mean over the heads of layer l, I the residual
    connection. Differs: they roll out one stack. Here the decoder goes on from the encoder; a
    row of its M has a share for every piece it was fed and one for every source piece,

        M ← ½ M + ½ A_self M          M ← ½ M + ½ [0 | A_cross R_encoder]

    so that "decoder" and "cross" are the two parts of one distribution.

    Returns:
        A matrix for each kind that can be rolled out; a decoder only where the record has all
        three kinds, since what a recurrent network carries along leaves no weights.
    """
    mixed: dict[Kind, Tensor] = {}
    if "encoder" in record.weights:
        mixed["encoder"] = _stack(record.weights["encoder"].mean(1))
    if len(record.weights) == 3:
        inside, across = (record.weights[kind].mean(1) for kind in ("decoder", "cross"))
        num_target = inside.shape[-1]
        fed = inside.new_zeros(num_target, num_target + across.shape[-1])
        fed[:, :num_target].fill_diagonal_(1.0)
        for own, other in zip(inside, across, strict=True):
            fed = (fed + own @ fed) / 2
            fed /= 2
            fed[:, num_target:] += other @ mixed["encoder"] / 2
        mixed["decoder"], mixed["cross"] = fed[:, :num_target], fed[:, num_target:]
    return mixed


def _stack(layers: Float[Tensor, "L S S"]) -> Float[Tensor, "S S"]:
    """The product of the layers, each half residual."""
    mixed = layers.new_zeros(layers.shape[1:]).fill_diagonal_(1.0)
    for layer in layers:
        mixed = (mixed + layer @ mixed) / 2
    return mixed
