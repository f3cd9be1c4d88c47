"""Sentences grouped by length within a budget of tokens."""

from hypothesis import given
from hypothesis import strategies as st

from regard.decoding.search import batches_by_budget

lengths_of_a_job = st.lists(st.integers(1, 50), max_size=60)
budgets = st.integers(1, 120)


@given(lengths=lengths_of_a_job, budget=budgets)
def test_every_sentence_is_in_one_batch(lengths: list[int], budget: int) -> None:
    batches = batches_by_budget(lengths, budget)
    assert sorted(number for batch in batches for number in batch) == list(range(len(lengths)))


@given(lengths=lengths_of_a_job, budget=budgets)
def test_a_padded_batch_is_within_the_budget_or_one_sentence(
    lengths: list[int], budget: int
) -> None:
    for batch in batches_by_budget(lengths, budget):
        longest = max(lengths[number] for number in batch)
        assert len(batch) == 1 or len(batch) * longest <= budget


@given(lengths=lengths_of_a_job, budget=budgets)
def test_the_longest_come_first(lengths: list[int], budget: int) -> None:
    order = [lengths[number] for batch in batches_by_budget(lengths, budget) for number in batch]
    assert order == sorted(lengths, reverse=True)


@given(lengths=lengths_of_a_job, budget=budgets)
def test_no_batch_leaves_room_for_the_next_sentence(lengths: list[int], budget: int) -> None:
    batches = batches_by_budget(lengths, budget)
    for batch in batches[:-1]:
        assert (len(batch) + 1) * lengths[batch[0]] > budget
