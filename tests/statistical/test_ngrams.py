"""Numbered n-grams: counts, places and suffixes are those of the corpus."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.statistical.ngrams import ROOT, Trie, number_ngrams

NUM_WORDS = 4
corpora = st.lists(st.lists(st.integers(0, NUM_WORDS - 1), max_size=7), min_size=1, max_size=6)


def ngrams(sentences: list[list[int]], length: int) -> Counter[tuple[int, ...]]:
    return Counter(
        tuple(words[i : i + length]) for words in sentences for i in range(len(words) - length + 1)
    )


@given(corpora)
def test_every_ngram_is_counted(sentences: list[list[int]]) -> None:
    trie, levels = number_ngrams(sentences, NUM_WORDS, 3)
    for length, level in enumerate(levels, start=1):
        nodes = range(level.nodes.start, level.nodes.stop)
        found = {tuple(trie.words(n)): c for n, c in zip(nodes, level.counts, strict=True) if c}
        assert found == ngrams(sentences, length)


@given(corpora)
def test_a_suffix_is_the_ngram_without_its_first_word(sentences: list[list[int]]) -> None:
    trie, levels = number_ngrams(sentences, NUM_WORDS, 3)
    for level in levels:
        for node, suffix in enumerate(level.suffixes.tolist(), start=level.first):
            assert trie.words(suffix) == trie.words(node)[1:]


@given(corpora)
def test_a_place_knows_the_ngram_that_begins_there(sentences: list[list[int]]) -> None:
    trie, levels = number_ngrams(sentences, NUM_WORDS, 3)
    for length, level in enumerate(levels, start=1):
        places = iter(level.places.tolist())
        for words in sentences:
            for i in range(len(words)):
                node = next(places)
                gram = words[i : i + length]
                assert trie.words(node) == gram if len(gram) == length else node == -1


@given(corpora, st.lists(st.integers(-1, NUM_WORDS - 1), min_size=1, max_size=3))
def test_a_walk_down_the_tree_finds_what_is_there(
    sentences: list[list[int]], wanted: list[int]
) -> None:
    trie, _ = number_ngrams(sentences, NUM_WORDS, 3)
    nodes = np.array([ROOT])
    for word in wanted:
        nodes = trie.children(nodes, np.array([word]))
    is_there = len(wanted) == 1 and wanted[0] >= 0
    is_there |= tuple(wanted) in ngrams(sentences, len(wanted))
    assert trie.words(int(nodes[0])) == wanted if is_there else nodes[0] == -1


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ([0, 1], ""),
        ([0, 1, 2, 3], ""),
        ([1, 2], "missing"),
        ([0], "missing"),
        ([0, 1, 3, 2], "order"),
        ([0, 1, 2, 2], "order"),
        ([0, 1, 8], "beginning"),
    ],
)
def test_faults_of_a_tree_are_named(keys: list[int], fault: str) -> None:
    found = Trie(np.array(keys), 2).fault()
    assert fault in found
    assert bool(fault) == bool(found)
