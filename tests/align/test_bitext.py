"""Sentence pairs as arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.align.bitext import LONGEST, NULL, Bitext
from regard.errors import DataError

sentence = st.lists(st.sampled_from("abcd"), max_size=5)
pairs = st.lists(st.tuples(sentence, sentence), max_size=12)


@settings(deadline=None, max_examples=50)
@given(pairs, st.integers(1, 60))
def test_every_cell_names_its_two_words(
    corpus: list[tuple[list[str], list[str]]], block_cells: int
) -> None:
    sources, targets = [s for s, _ in corpus], [t for _, t in corpus]
    usable = {number for number, (s, t) in enumerate(corpus) if s and t}
    if not usable:
        return
    bitext = Bitext.of(sources, targets, block_cells=block_cells)
    seen = set()
    for block in bitext.blocks:
        for number, cells in zip(block.numbers.tolist(), block.cells, strict=True):
            seen.add(number)
            source, target = np.divmod(bitext.keys[cells], len(bitext.target_words))
            for j, word in enumerate(targets[number]):
                assert {bitext.target_words[t] for t in target[j]} == {word}
                assert [bitext.source_words[s] for s in source[j]] == [NULL, *sources[number]]
    assert seen == usable


def test_a_block_is_no_larger_than_allowed() -> None:
    sources = [["a"] * 4] * 50
    bitext = Bitext.of(sources, sources, block_cells=100)
    assert max(block.cells.size for block in bitext.blocks) <= 100
    assert len(bitext.blocks) > 1


def test_over_long_sentences_are_left_out() -> None:
    long = ["a"] * (LONGEST + 1)
    bitext = Bitext.of([["a"], long], [["b"], ["b"]])
    assert [block.numbers.tolist() for block in bitext.blocks] == [[0]]


@pytest.mark.parametrize(
    ("sources", "targets", "message"),
    [
        ([], [], "nothing to learn an alignment from"),
        ([["a"], []], [[], ["b"]], "nothing to learn an alignment from"),
        ([["a"]] * 2, [["b"]], "2 source sentences and 1 target sentences cannot be aligned"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(
    sources: list[list[str]], targets: list[list[str]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        Bitext.of(sources, targets)
