"""Attention rollout against its definition."""

import torch

from regard.lens.record import AttentionRecord
from regard.lens.rollout import rollout
from regard.shapes import Tensor
from tests.page.known import known_record


def mixing(weights: Tensor) -> Tensor:
    """½ A + ½ I, the heads of a layer averaged."""
    mean = weights.mean(0)
    return (mean + torch.eye(len(mean))) / 2


def test_the_encoder_s_is_the_product_of_its_layers() -> None:
    record = known_record()
    first, second = record.weights["encoder"]
    torch.testing.assert_close(rollout(record)["encoder"], mixing(second) @ mixing(first))


def test_what_reaches_a_target_position_comes_from_its_prefix_and_the_source() -> None:
    mixed = rollout(known_record())
    total = mixed["decoder"].sum(1) + mixed["cross"].sum(1)
    torch.testing.assert_close(total, torch.ones_like(total))
    torch.testing.assert_close(mixed["encoder"].sum(1), torch.ones(7))
    assert mixed["decoder"].triu(1).abs().max() == 0


def test_a_decoder_of_one_layer_by_hand() -> None:
    own, other = torch.tensor([[1.0, 0.0], [0.25, 0.75]]), torch.tensor([[0.5, 0.5], [1.0, 0.0]])
    record = AttentionRecord(
        ("a", "</s>"),
        ("b", "</s>"),
        {
            "encoder": torch.eye(2).view(1, 1, 2, 2),
            "decoder": own.view(1, 1, 2, 2),
            "cross": other.view(1, 1, 2, 2),
        },
    )
    mixed = rollout(record)
    torch.testing.assert_close(mixed["decoder"], (torch.eye(2) + own) / 4)
    torch.testing.assert_close(mixed["cross"], other / 2)


def test_without_self_attention_only_what_is_there_is_rolled_out() -> None:
    record = known_record()
    cross = AttentionRecord(record.source, record.target, {"cross": record.weights["cross"]})
    assert rollout(cross) == {}
