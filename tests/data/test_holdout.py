"""Holding sentences out: the same every time, and no sentence on both sides."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.corpus import Example
from regard.data.holdout import count_pairs, find_threshold, split_off
from regard.errors import DataError

examples = st.lists(
    st.builds(Example, st.text(st.characters(exclude_categories=["Cs"])), st.text(max_size=3)),
    min_size=10,
    max_size=80,
)


def split(pairs: list[Example], size: int) -> tuple[list[Example], list[Example]]:
    threshold = find_threshold(pairs, size)
    held = list(split_off(pairs, threshold, is_held_out=True))
    return held, list(split_off(pairs, threshold, is_held_out=False))


@given(examples, st.integers(1, 2))
def test_every_pair_is_on_one_side_in_order(pairs: list[Example], size: int) -> None:
    held, kept = split(pairs, size)
    sources = {example.source for example in held}
    assert [e for e in pairs if e.source in sources] == held
    assert [e for e in pairs if e.source not in sources] == kept


@given(examples, st.integers(1, 2))
def test_so_many_different_sources_are_held_out(pairs: list[Example], size: int) -> None:
    held, _ = split(pairs, size)
    num_sources = len({example.source for example in pairs})
    assert len({example.source for example in held}) == min(size, num_sources)


@given(examples)
def test_the_choice_does_not_depend_on_the_order(pairs: list[Example]) -> None:
    backwards = pairs[::-1]
    assert set(split(pairs, 2)[0]) == set(split(backwards, 2)[0])


def test_too_small_a_corpus_is_one_line_with_numbers() -> None:
    pairs = [Example(str(n), "x") for n in range(9)]
    with pytest.raises(DataError) as caught:
        find_threshold(pairs, 2_000)
    assert str(caught.value) == (
        "9 pairs are too few to hold 2,000 out for validation; "
        "give data.valid, or a smaller data.valid_size"
    )


def test_pairs_are_counted_as_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "train.tsv"
    path.write_text("a\tb\n\t\nc\td\n", "utf-8")
    assert count_pairs([path]) == 2
