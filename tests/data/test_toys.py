"""The toy tasks."""

import pytest

from regard.data.toys import SYMBOLS, TASKS, toy
from regard.errors import ConfigError


def test_copy_copies() -> None:
    assert all(pair.target == pair.source for pair in toy("copy", size=480).train)


def test_reverse_reverses() -> None:
    for pair in toy("reverse", size=480).train:
        assert pair.target.split()[::-1] == pair.source.split()


def test_sort_sorts() -> None:
    for pair in toy("sort", size=480).train:
        targets = [SYMBOLS.index(word) for word in pair.target.split()]
        assert targets == sorted(targets)
        assert sorted(pair.target.split()) == sorted(pair.source.split())


@pytest.mark.parametrize("task", TASKS)
def test_no_source_is_in_two_splits(task: str) -> None:
    splits = toy(task, size=2400)
    sources = [pair.source for pair in (*splits.train, *splits.valid, *splits.test)]
    assert len(set(sources)) == len(sources) == 2400


def test_a_corpus_is_a_function_of_size_and_seed() -> None:
    assert toy("sort", size=480, seed=3) == toy("sort", size=480, seed=3)
    assert toy("sort", size=480, seed=3) != toy("sort", size=480, seed=4)


def test_all_lengths_and_all_symbols_occur_in_training() -> None:
    sources = [pair.source.split() for pair in toy("copy", max_length=7).train]
    assert {len(source) for source in sources} == set(range(1, 8))
    assert {word for source in sources for word in source} == set(SYMBOLS)


@pytest.mark.parametrize(
    ("task", "size", "max_length", "message"),
    [
        ("shuffle", 480, 12, "no toy task is called 'shuffle'; choose one of copy, reverse, sort"),
        ("copy", 47, 12, "size = 47 is too small for three splits; use 48 or more"),
        ("copy", 480, 2, "size = 480 is more than half of the 420 sequences of up to 2 symbols"),
    ],
)
def test_an_impossible_corpus_is_refused(
    task: str, size: int, max_length: int, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        toy(task, size=size, max_length=max_length)
    assert str(caught.value).startswith(message)
