"""The phrase table: relative frequencies and lexical weights, as the papers define them."""

import math
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.align.links import Link, Links
from regard.errors import DataError, ModelFileError
from regard.statistical.extraction import consistent_spans, pack_links
from regard.statistical.phrases import Phrase, PhraseTable, train_phrases

Corpus = tuple[list[list[str]], list[list[str]], list[Links]]
Pair = tuple[tuple[str, ...], tuple[str, ...]]


def random_corpus(seed: int) -> Corpus:
    """Short sentences with any links whatever."""
    chosen = random.Random(seed)
    sources, targets, alignments = [], [], []
    for _ in range(60):
        sources.append([f"f{chosen.randrange(4)}" for _ in range(chosen.randint(1, 5))])
        targets.append([f" e{chosen.randrange(4)}" for _ in range(chosen.randint(1, 5))])
        cells = [(i, j) for i in range(len(sources[-1])) for j in range(len(targets[-1]))]
        alignments.append(frozenset(chosen.sample(cells, min(len(cells), chosen.randint(1, 4)))))
    return sources, targets, alignments


def occurrences(corpus: Corpus, max_length: int) -> list[tuple[Pair, tuple[Link, ...]]]:
    found = []
    for f, e, links in zip(*corpus, strict=True):
        for s in consistent_spans(links, len(f), len(e), max_length):
            pair = tuple(f[s.i : s.i_end]), tuple(e[s.j : s.j_end])
            inner = sorted((i - s.i, j - s.j) for i, j in links if s.i <= i < s.i_end)
            found.append((pair, tuple(inner)))
    return found


def word_table(corpus: Corpus) -> dict[tuple[str, str], float]:
    """w(e | f) by counting links; NULL is the empty word."""
    counts: Counter[tuple[str, str]] = Counter()
    for f, e, links in zip(*corpus, strict=True):
        counts.update((f[i], e[j]) for i, j in links)
        counts.update(("", e[j]) for j in range(len(e)) if j not in {b for _, b in links})
    totals: Counter[str] = Counter()
    for (word, _), count in counts.items():
        totals[word] += count
    return {(f, e): count / totals[f] for (f, e), count in counts.items()}


def weight(pair: Pair, links: tuple[Link, ...], table: dict[tuple[str, str], float]) -> float:
    """p_w(ē | f̄, a), word by word."""
    f, e = pair
    product = 1.0
    for j, word in enumerate(e):
        linked = [f[i] for i, b in links if b == j] or [""]
        product *= sum(table[other, word] for other in linked) / len(linked)
    return product


def turned(corpus: Corpus) -> Corpus:
    sources, targets, alignments = corpus
    return targets, sources, [frozenset((j, i) for i, j in links) for links in alignments]


def table_of(corpus: Corpus, **options: Any) -> dict[Pair, Phrase]:
    table = train_phrases(*corpus, **options)
    found: dict[Pair, Phrase] = {}
    for words in corpus[0]:
        for begin, end, phrases in table.matches(words):
            found |= {(tuple(words[begin:end]), each.tokens): each for each in phrases}
    return found


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("max_length", [1, 3])
def test_the_table_is_that_of_the_definitions(seed: int, max_length: int) -> None:
    corpus = random_corpus(seed)
    seen = occurrences(corpus, max_length)
    counts = Counter(pair for pair, _ in seen)
    by_source, by_target = Counter(f for (f, _), _ in seen), Counter(e for (_, e), _ in seen)
    found = table_of(corpus, max_length=max_length, limit=1000)
    assert found.keys() == counts.keys()

    forward, reverse = word_table(corpus), word_table(turned(corpus))

    def weights(pair: Pair, links: tuple[Link, ...]) -> tuple[float, float]:
        back = tuple((j, i) for i, j in links)
        return weight(pair, links, forward), weight((pair[1], pair[0]), back, reverse)

    for pair, phrase in found.items():
        f, e = pair
        assert phrase.scores[0] == pytest.approx(math.log(counts[pair] / by_source[f]))
        assert phrase.scores[1] == pytest.approx(math.log(counts[pair] / by_target[e]))
        assert phrase.scores[2:] == pytest.approx(np.log(weights(pair, phrase.links)))
        best = max(math.prod(weights(pair, links)) for other, links in seen if other == pair)
        assert math.prod(weights(pair, phrase.links)) == pytest.approx(best)


def test_the_translations_of_a_phrase_are_a_distribution_unless_cut() -> None:
    corpus = random_corpus(2)
    totals: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for (f, _), phrase in table_of(corpus, limit=1000).items():
        totals[f] += math.exp(phrase.scores[0])
    assert list(totals.values()) == pytest.approx([1.0] * len(totals))


def test_the_most_frequent_translations_are_kept() -> None:
    corpus = random_corpus(3)
    whole, short = train_phrases(*corpus, limit=1000), train_phrases(*corpus, limit=2)
    for words in corpus[0]:
        of_whole = {(b, e): phrases for b, e, phrases in whole.matches(words)}
        of_short = {(b, e): phrases for b, e, phrases in short.matches(words)}
        assert of_short == {span: phrases[:2] for span, phrases in of_whole.items()}
        for phrases in of_whole.values():
            assert [-p.scores[0] for p in phrases] == sorted(-p.scores[0] for p in phrases)


def test_words_that_were_never_seen_match_nothing() -> None:
    table = train_phrases([["a"]], [[" A"]], [frozenset({(0, 0)})])
    assert [(b, e) for b, e, _ in table.matches(["x", "a", "y"])] == [(1, 2)]
    assert list(table.matches([])) == []


def test_a_corpus_without_links_is_refused() -> None:
    with pytest.raises(DataError, match="no phrases were found"):
        train_phrases([["a"]], [[" A"]], [frozenset()])


def test_a_file_holds_all_of_it(tmp_path: Path) -> None:
    corpus = random_corpus(4)
    table = train_phrases(*corpus)
    table.save(tmp_path / "phrases.npz")
    again = PhraseTable.load(tmp_path / "phrases.npz")
    assert len(again) == len(table) > 0
    for words in corpus[0]:
        assert list(again.matches(words)) == list(table.matches(words))


GOOD: dict[str, Any] = {
    "format": np.array(1),
    "source_words": np.frombuffer(b"chat", np.uint8),
    "target_words": np.frombuffer(b" cat", np.uint8),
    "sources": np.array([0]),
    "targets": np.array([0]),
    "starts": np.array([0, 0, 1]),
    "phrases": np.array([1]),
    "scores": np.array([[-0.1, -0.2, -0.3, -0.4]]),
    "inner": np.array([pack_links([(0, 0)])]),
}


def test_the_example_of_the_next_test_is_good(tmp_path: Path) -> None:
    np.savez(tmp_path / "good.npz", **GOOD)
    ((begin, end, phrases),) = PhraseTable.load(tmp_path / "good.npz").matches(["chat"])
    assert (begin, end) == (0, 1)
    assert phrases == [Phrase((" cat",), (-0.1, -0.2, -0.3, -0.4), ((0, 0),))]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": np.array(9)}, "has format 9"),
        ({"sources": np.array([1])}, "a word is missing"),
        ({"targets": np.array([], np.int64)}, "a word is missing"),
        ({"starts": np.array([0, 1])}, "do not belong"),
        ({"starts": np.array([0, 0, 2])}, "do not belong"),
        ({"starts": np.array([0, 2, 1])}, "out of order"),
        ({"phrases": np.array([2])}, "no target phrase"),
        ({"phrases": np.array([0])}, "no target phrase"),
        ({"scores": np.array([[-0.1, -0.2]])}, "another number of scores"),
        ({"scores": np.array([[-0.1, -0.2, 0.3, -0.4]])}, "more than 1"),
        ({"scores": np.array([[-0.1, -0.2, np.nan, -0.4]])}, "more than 1"),
        ({"inner": np.array([0])}, "no links"),
        ({"inner": np.array([], np.int64)}, "another number of scores or links"),
        ({"inner": np.array([pack_links([(0, 1)])])}, "links words that it does not have"),
        ({"inner": np.array([pack_links([(1, 0)])])}, "links words that it does not have"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    np.savez(tmp_path / "bad.npz", **GOOD | changes)
    with pytest.raises(ModelFileError, match=message):
        PhraseTable.load(tmp_path / "bad.npz")
