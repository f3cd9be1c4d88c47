"""Slots that nothing moves equal a cache whose rows are moved."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.attention import (
    Ancestry,
    KeyValue,
    KeyValueCache,
    Slots,
    attend,
    attend_in_batches,
    attend_rows,
)
from regard.shapes import Tensor

HEADS, WIDTH = 2, 3


def random_rows(batch: int, lanes: int, beam: int, keeps: bool, dice: torch.Generator) -> Tensor:
    """Where each row of the next step comes from; perhaps a sentence leaves."""
    sentences = torch.arange(batch)
    if not keeps and batch > 1:
        sentences = sentences[torch.randperm(batch, generator=dice)[:-1].sort().values]
    return sentences.unsqueeze(1) * lanes + torch.randint(
        lanes, (len(sentences), beam), generator=dice
    )


@given(
    batch=st.integers(1, 4),
    beam=st.integers(1, 4),
    steps=st.lists(st.booleans(), min_size=1, max_size=24),
    drop_every=st.integers(1, 8),
    closes_up=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_a_beam_whose_slots_stay_attends_as_one_whose_rows_move(
    batch: int, beam: int, steps: list[bool], drop_every: int, closes_up: bool, seed: int
) -> None:
    """Whether the slots of sentences that are over are given up at once or stay for a while."""
    dice = torch.Generator().manual_seed(seed)
    ancestry, slots = Ancestry(batch), Slots(num_steps=2)
    blocks: Tensor | None = None
    cache = KeyValueCache(len(steps))
    for step, keeps in enumerate(steps):
        lanes = ancestry.lanes
        shape = (ancestry.num_sentences, lanes, HEADS, WIDTH)
        query, key, value = torch.randn(3, *shape, generator=dice)  # B N H K
        own = ancestry.extend(blocks)
        new = torch.stack([key, value]).transpose(2, 3)  # 2 B H N K
        keys, values = slots.append(new, ancestry.num_slots, blocks)
        found = attend_rows(query.reshape(-1, HEADS * WIDTH), keys, values, own)
        past = cache.append(
            KeyValue(*(x.reshape(-1, HEADS, 1, WIDTH) for x in (key, value)))
        )  # R H T K
        moved = attend(query.reshape(-1, HEADS, 1, WIDTH), past.key, past.value).output
        torch.testing.assert_close(found.view(moved.shape), moved, atol=1e-5, rtol=1e-4)

        rows = random_rows(ancestry.num_sentences, lanes, beam, keeps, dice)
        cache.reorder(rows.flatten())
        ancestry.reorder(rows)
        sentences = rows[:, 0] // lanes
        if closes_up:
            slots.select(sentences, ancestry.num_slots)
        else:
            blocks = sentences if blocks is None else blocks[sentences]
        if step % drop_every == 0:
            kept = ancestry.drop_dead()
            if kept is not None:
                slots.keep(kept, blocks)
                blocks = None


def test_slots_that_nobody_descends_from_are_dropped() -> None:
    ancestry = Ancestry(1)
    ancestry.extend()
    ancestry.reorder(torch.tensor([[0, 0, 0]]))
    for _ in range(10):
        ancestry.extend()
        ancestry.reorder(torch.tensor([[1, 1, 1]]))  # all go on from one
    assert ancestry.num_slots == 31
    kept = ancestry.drop_dead()
    assert kept is not None
    assert kept.tolist() == [[0, *range(2, 31, 3)]]
    assert ancestry.num_slots == 11
    assert ancestry.drop_dead() is None


def test_many_small_attentions_are_attention() -> None:
    torch.manual_seed(0)
    query, keys, values = torch.randn(6, 4, 8), torch.randn(6, 5, 8), torch.randn(6, 5, 8)
    mask = torch.rand(6, 4, 5) < 0.6
    mask[..., 0] = True
    bias = torch.zeros(6, 4, 5).masked_fill(~mask, -torch.inf)
    for one, other in ((None, None), (bias, mask)):
        torch.testing.assert_close(
            attend_in_batches(query, keys, values, one),
            attend(query, keys, values, mask=other).output,
        )
