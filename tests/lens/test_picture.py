"""Which matrix is drawn, under which names."""

import pytest
import torch

from regard.errors import ConfigError
from regard.lens.picture import picture_of
from regard.lens.record import KINDS, AttentionRecord, Kind
from regard.text.encoded import Encoded

SOURCE = Encoded("le chat", (4, 5, 6), ("▁le", "▁cha", "t"), ((0, 2), (2, 6), (6, 7)))
TARGET = Encoded("the cat", (7, 8), ("▁the", "▁cat"), ((0, 3), (3, 7)))


@pytest.fixture
def record() -> AttentionRecord:
    torch.manual_seed(0)
    return AttentionRecord(
        (*SOURCE.pieces, "</s>"),
        (*TARGET.pieces, "</s>"),
        {
            "encoder": torch.randn(2, 3, 4, 4).softmax(-1),
            "decoder": torch.randn(2, 3, 3, 3).softmax(-1),
            "cross": torch.randn(2, 3, 3, 4).softmax(-1),
        },
    )


def test_pieces_of_one_head_are_the_records_own(record: AttentionRecord) -> None:
    picture = picture_of(record, SOURCE, TARGET, layer=2, head=3, by_words=False)
    assert torch.equal(picture.weights, record.weights["cross"][1, 2])
    assert (picture.rows, picture.columns) == (record.target, record.source)


def test_what_is_not_named_is_averaged(record: AttentionRecord) -> None:
    picture = picture_of(record, SOURCE, TARGET, head=3, by_words=False)
    torch.testing.assert_close(picture.weights, record.weights["cross"][:, 2].mean(0))


@pytest.mark.parametrize(
    ("kind", "rows", "columns"),
    [
        ("encoder", ("le", "chat"), ("le", "chat")),
        ("decoder", ("the", "cat"), ("the", "cat")),
        ("cross", ("the", "cat"), ("le", "chat")),
    ],
)
def test_words_name_both_axes(
    record: AttentionRecord, kind: Kind, rows: tuple[str, ...], columns: tuple[str, ...]
) -> None:
    picture = picture_of(record, SOURCE, TARGET, kind=kind)
    assert (picture.rows, picture.columns) == (rows, columns)
    assert picture.weights.shape == (2, 2)


def test_a_target_word_fed_to_the_decoder_has_the_row_after_the_start(
    record: AttentionRecord,
) -> None:
    picture = picture_of(record, SOURCE, TARGET, kind="decoder", layer=1, head=1)
    assert torch.equal(picture.weights, record.weights["decoder"][0, 0, 1:, 1:])


@pytest.mark.parametrize(
    ("layer", "head", "title"),
    [
        (None, None, "Cross-attention, mean over layers and heads"),
        (1, None, "Cross-attention, layer 1, mean over heads"),
        (None, 2, "Cross-attention, mean over layers, head 2"),
        (1, 2, "Cross-attention, layer 1, head 2"),
    ],
)
def test_the_title_says_which(
    record: AttentionRecord, layer: int | None, head: int | None, title: str
) -> None:
    assert picture_of(record, SOURCE, TARGET, layer=layer, head=head).title == title


@pytest.mark.parametrize(
    ("layer", "head", "message"),
    [
        (0, None, "layer 0 does not exist; expected 1 to 2"),
        (3, 1, "layer 3 does not exist; expected 1 to 2"),
        (1, 4, "head 4 does not exist; expected 1 to 3"),
    ],
)
def test_what_does_not_exist_is_said_with_its_range(
    record: AttentionRecord, layer: int | None, head: int | None, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        picture_of(record, SOURCE, TARGET, layer=layer, head=head)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_the_model_lacks_is_said(kind: Kind) -> None:
    nothing = AttentionRecord(("</s>",), ("</s>",), {})
    with pytest.raises(ConfigError, match="this model has no attention; there is nothing"):
        picture_of(nothing, SOURCE, TARGET, kind=kind)
