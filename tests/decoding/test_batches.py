"""Sentences grouped by length within a budget of tokens."""

from hypothesis import given
from hypothesis import strategies as st

from regard.decoding.search import TURNS, batches_by_budget, even_batches

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


@given(lengths=lengths_of_a_job, budget=budgets, workers=st.integers(2, 4))
def test_workers_get_equally_many_and_none_larger_than_it_need_be(
    lengths: list[int], budget: int, workers: int
) -> None:
    found = even_batches(lengths, budget, workers)
    assert sorted(number for batch in found for number in batch) == list(range(len(lengths)))
    turns = max(TURNS, -(-len(batches_by_budget(lengths, budget)) // workers))
    assert len(found) <= turns * workers
    areas = [len(batch) * lengths[batch[0]] for batch in found]
    assert all(area <= budget or len(found[n]) == 1 for n, area in enumerate(areas))
    if len(lengths) > 1 and (largest := max(areas)) > max(lengths):
        assert len(batches_by_budget(lengths, largest - 1)) > turns * workers


def test_two_workers_end_together() -> None:
    lengths = [10] * 90
    assert [len(batch) for batch in batches_by_budget(lengths, 320)] == [32, 32, 26]
    assert [len(batch) for batch in even_batches(lengths, 320, 2)] == [23, 23, 23, 21]
    assert [len(batch) for batch in even_batches([10] * 150, 320, 2)] == [25] * 6
    assert even_batches(lengths, 320, 1) == batches_by_budget(lengths, 320)
