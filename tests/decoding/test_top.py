"""The best continuations by blocks are the best continuations."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.decoding import top
from regard.decoding.top import BLOCK, best_continuations, best_token, check_numbers
from regard.errors import ModelFileError
from regard.plain import plain


@pytest.fixture(autouse=True)
def by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few there are."""
    monkeypatch.setattr(top, "FEW_SCORES", 0)


@given(
    batch=st.integers(1, 3),
    beam=st.integers(1, 4),
    vocabulary=st.integers(1, 10 * BLOCK),
    count=st.integers(1, 8),
    banned=st.integers(0, 3),
    seed=st.integers(0, 10_000),
)
def test_blocks_find_what_a_look_at_everything_finds(
    batch: int, beam: int, vocabulary: int, count: int, banned: int, seed: int
) -> None:
    dice = torch.Generator().manual_seed(seed)
    scores = -5 * torch.rand(batch, beam, generator=dice)
    log_probs = torch.randn(batch, beam, vocabulary, generator=dice).log_softmax(-1)
    log_probs[..., :banned] = -torch.inf
    found = best_continuations(scores, log_probs, count)
    with plain():
        expected = best_continuations(scores, log_probs, count)
    torch.testing.assert_close(found.totals, expected.totals)
    possible = expected.totals > -torch.inf
    assert torch.equal(found.tokens[possible], expected.tokens[possible])
    assert torch.equal(found.lanes[possible], expected.lanes[possible])


@given(vocabulary=st.integers(1, 10 * BLOCK), seed=st.integers(0, 10_000))
def test_the_best_token_is_the_largest(vocabulary: int, seed: int) -> None:
    log_probs = torch.randn(3, vocabulary, generator=torch.Generator().manual_seed(seed))
    assert torch.equal(best_token(log_probs), log_probs.argmax(-1))


def test_what_is_no_number_is_refused() -> None:
    check_numbers([0.0, -torch.inf])
    with pytest.raises(ModelFileError, match="scores are not numbers"):
        check_numbers([0.0, torch.nan])


def test_a_row_that_is_no_number_is_found() -> None:
    log_probs = torch.randn(2, 1, 5 * BLOCK)
    log_probs[1] = torch.nan
    found = best_continuations(torch.zeros(2, 1), log_probs, 3)
    assert found.totals.isnan().any(1).tolist() == [False, True]
