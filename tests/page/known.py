"""Attention whose weights are known."""

import torch

from regard.lens.record import AttentionRecord
from regard.shapes import Tensor
from regard.text.encoded import Encoded

SOURCE = Encoded(
    "Jane visite l'Afrique.",
    (4, 5, 6, 7, 8, 9),
    ("▁Jane", "▁vis", "ite", "▁l'", "Afrique", "."),
    ((0, 4), (4, 8), (8, 11), (11, 14), (14, 21), (21, 22)),
)
TARGET = Encoded(
    "Jane visits Africa.",
    (4, 5, 6, 7),
    ("▁Jane", "▁visits", "▁Africa", "."),
    ((0, 4), (4, 11), (11, 18), (18, 19)),
)


def known_record(source: Encoded = SOURCE, target: Encoded = TARGET) -> AttentionRecord:
    """Two layers of two heads; rows of the cross-attention differ, and layer 2 head 1 is apart.

    Layer 2, head 1 looks at one piece only: target piece t at source piece t + 1.
    """
    torch.manual_seed(0)
    num_source, num_target = len(source.pieces) + 1, len(target.pieces) + 1

    def weights(rows: int, columns: int) -> Tensor:
        return torch.randn(2, 2, rows, columns).mul(2).softmax(-1)

    cross = weights(num_target, num_source)
    cross[1, 0] = torch.eye(num_target, num_source).roll(1, 1)
    decoder = weights(num_target, num_target).tril()
    return AttentionRecord(
        (*source.pieces, "</s>"),
        (*target.pieces, "</s>"),
        {
            "encoder": weights(num_source, num_source),
            "decoder": decoder / decoder.sum(-1, keepdim=True),
            "cross": cross,
        },
    )
