"""Records as they travel: what a page unpacks is what the model looked at."""

import base64
import zlib

import numpy as np
import pytest
import torch

from regard.api import Translator
from regard.lens.wire import pack, to_wire, words_to_wire
from regard.shapes import Tensor
from regard.text.spans import piece_words, word_spans


def unpack(packed: str, num_columns: int) -> Tensor:
    """What `weights.js` does."""
    content = zlib.decompress(base64.b64decode(packed))
    num_rows = len(content) // (4 + num_columns)
    largest = np.frombuffer(content, "<f4", num_rows)
    numbers = np.frombuffer(content, np.uint8, offset=4 * num_rows).reshape(num_rows, num_columns)
    return torch.from_numpy(numbers * largest[:, None] / 255)


def test_a_weight_is_off_by_a_510th_of_its_row_s_largest_at_most() -> None:
    weights = torch.randn(2, 3, 7, 5).mul(3).softmax(-1)
    rows = weights.view(-1, 5)
    error = (unpack(pack(weights), 5) - rows).abs()
    assert (error <= rows.amax(1, keepdim=True) / 510 * 1.0001).all()


def test_rows_of_zeros_stay_zeros() -> None:
    assert unpack(pack(torch.zeros(2, 3)), 3).abs().max() == 0


@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (2, 0, 3, 4), (1, 2, 3, 0)])
def test_small_and_empty_records_travel(shape: tuple[int, ...]) -> None:
    again = unpack(pack(torch.ones(shape)), shape[-1])
    torch.testing.assert_close(again.view(shape), torch.ones(shape), rtol=0, atol=0)


def test_axes_name_pieces_words_and_the_text_between(translator: Translator) -> None:
    (found,) = translator.translate("Jane visite l'Afrique.", attention=True).sentences
    wire = found.to_wire("mine")
    assert wire["model"] == "mine"
    axis = wire["axes"]["source"]
    assert axis["pieces"] == [*found.source.pieces, "</s>"]
    assert axis["word_of"] == [*piece_words(found.source), -1]
    assert len(axis["words"]) == len(word_spans(found.source.text))
    text = "".join(a + b for a, b in zip(axis["gaps"], axis["words"], strict=True))
    assert text == found.source.text
    inputs = wire["axes"]["inputs"]
    assert inputs["pieces"][0] == "<s>" and inputs["special"] == [0]
    assert inputs["word_of"] == [-1, *piece_words(found.best.target)]
    for axis in wire["axes"].values():
        assert len(axis["word_of"]) == len(axis["pieces"])


def test_every_kind_travels_whole(translator: Translator) -> None:
    (found,) = translator.translate("elle voit un livre.", attention=True).sentences
    assert found.attention
    wire = to_wire(found.attention)
    for kind, weights in found.attention.weights.items():
        packed = wire["kinds"][kind]
        assert packed["shape"] == list(weights.shape)
        rows, columns = (wire["axes"][packed[side]]["pieces"] for side in ("rows", "columns"))
        assert (tuple(rows), tuple(columns)) == found.attention.axes(kind)
        again = unpack(packed["weights"], weights.shape[-1]).view_as(weights)
        torch.testing.assert_close(again, weights, atol=0.002, rtol=0)


def test_an_alignment_of_words_travels_as_one_head() -> None:
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.5, 0.25]])
    wire = words_to_wire(weights, ("Jane", "visite", "ici"), ("Jane", "visits"), model="mine")
    cross = wire["kinds"]["cross"]
    assert cross["shape"] == [1, 1, 2, 3]
    torch.testing.assert_close(unpack(cross["weights"], 3), weights, atol=0.001, rtol=0)
    axis = wire["axes"][cross["columns"]]
    assert (axis["pieces"], axis["special"]) == (["Jane", "visite", "ici"], [])
    assert (axis["gaps"], axis["word_of"]) == (["", " ", " "], [0, 1, 2])
    nothing = words_to_wire(torch.zeros(0, 1), ("Jane",), ())
    assert nothing["axes"]["target"]["gaps"] == []
