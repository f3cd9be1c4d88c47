"""From pieces to words, and to an alignment."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.lens.words import align_words, merge_to_words, words
from regard.shapes import Tensor
from regard.text.encoded import Encoded


def encoded(*pieces: str) -> Encoded:
    """Pieces as a tokeniser cuts them; ▁ is a space."""
    text, offsets = "", []
    for piece in pieces:
        surface = piece.replace("▁", " ") if text else piece.removeprefix("▁")
        offsets.append((len(text), len(text) + len(surface)))
        text += surface
    return Encoded(text, tuple(range(len(pieces))), pieces, tuple(offsets))


SOURCE = encoded("▁le", "▁cha", "t")
TARGET = encoded("▁the", "▁c", "at")
# Rows: the, c, at, </s>. Columns: le, cha, t, </s>.
WEIGHTS = torch.tensor(
    [[0.6, 0.1, 0.1, 0.2], [0.2, 0.4, 0.4, 0.0], [0.0, 0.3, 0.3, 0.4], [0.0, 0.0, 0.0, 1.0]]
)


def test_a_word_gets_the_sum_and_gives_the_mean_of_its_pieces() -> None:
    merged = merge_to_words(WEIGHTS, TARGET, SOURCE)
    torch.testing.assert_close(merged, torch.tensor([[0.6, 0.2], [0.1, 0.7]]))


def test_words_have_no_piece_marks() -> None:
    assert words(SOURCE) == ["le", "chat"]


@given(st.integers(0, 2**31))
def test_a_row_sums_to_what_its_pieces_did_not_give_the_end_token(seed: int) -> None:
    weights = torch.randn(4, 4, generator=torch.Generator().manual_seed(seed)).softmax(-1)
    kept = 1 - weights[:3, 3]
    expected = torch.stack([kept[0], kept[1:].mean()])
    torch.testing.assert_close(merge_to_words(weights, TARGET, SOURCE).sum(1), expected)


@given(st.permutations(range(5)))
def test_a_permutation_matrix_is_its_own_alignment(order: list[int]) -> None:
    source = encoded(*(f"▁s{i}" for i in range(5)))
    target = encoded(*(f"▁t{i}" for i in range(5)))
    weights = torch.zeros(5, 5)
    weights[range(5), order] = 1.0
    alignment = align_words(weights, target, source)
    assert {j: i for i, j in alignment.links} == dict(enumerate(order))


def test_pharaoh_writes_the_source_first() -> None:
    weights: Tensor = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    alignment = align_words(weights, encoded("▁the", "▁cat"), encoded("▁chat", "▁le"))
    assert alignment.pharaoh() == "0-1 1-0"


def test_an_empty_translation_has_no_links() -> None:
    assert align_words(torch.zeros(1, 4), encoded(), SOURCE).links == ()
