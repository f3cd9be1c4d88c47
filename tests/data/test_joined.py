"""Sentences of the phrasebook, one after the other."""

import pytest

from regard.data.corpus import Example, Splits
from regard.data.joined import ASKED, LEARNED, joined
from regard.data.phrasebook import phrasebook

SIZE = 2400


@pytest.fixture(scope="module")
def made() -> Splits:
    return joined(size=SIZE)


def num_words(example: Example) -> int:
    return len(example.source.split())


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_the_parts_of_a_pair_are_pairs_of_the_same_split(made: Splits, split: str) -> None:
    known = {part.source: part.target for part in getattr(phrasebook(size=SIZE), split)}
    for example in getattr(made, split):
        words = example.source.split(" ")
        targets = []
        while words:
            # No sentence of the phrasebook begins another: the shortest that is known is a part.
            end = next(n for n in range(1, len(words) + 1) if " ".join(words[:n]) in known)
            targets.append(known[" ".join(words[:end])])
            words = words[end:]
        assert " ".join(targets) == example.target


def test_training_has_lengths_up_to_its_border(made: Splits) -> None:
    assert max(map(num_words, made.train)) == LEARNED
    assert max(map(num_words, made.valid)) <= LEARNED


def test_the_test_has_all_lengths_up_to_three_times_as_long(made: Splits) -> None:
    lengths = list(map(num_words, made.test))
    assert ASKED - 5 < max(lengths) <= ASKED
    assert all(any(low < n <= low + 10 for n in lengths) for low in range(0, ASKED, 10))


def test_a_corpus_is_a_function_of_size_and_seed(made: Splits) -> None:
    assert joined(size=SIZE) == made
    assert joined(size=SIZE, seed=1) != made
