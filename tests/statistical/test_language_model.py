"""The n-gram model: a distribution in every context, equal to the formula worked out by hand."""

import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.errors import ModelFileError
from regard.statistical.language_model import (
    BEGIN,
    END,
    FALLBACK,
    UNKNOWN,
    LanguageModel,
    discounts,
    train_language_model,
)

Sentences = list[list[str]]


def random_corpus(seed: int, num_sentences: int = 60, vocabulary: int = 8) -> Sentences:
    """Sentences whose words depend on the one before."""
    chosen = random.Random(seed)
    sentences = []
    for _ in range(num_sentences):
        words = [chosen.randrange(vocabulary)]
        for _ in range(chosen.randint(0, 6)):
            words.append((words[-1] + chosen.choice([1, 1, 1, 2, 5])) % vocabulary)
        sentences.append([f" w{word}" for word in words])
    return sentences


def probability(model: LanguageModel, context: tuple[str, ...], word: str) -> float:
    """p(word | context), the context read word by word from the root or from ⟨s⟩."""
    state = 0
    for each in context:
        state = model.start if each == BEGIN else model.score(state, model.number(each))[1]
    return math.exp(model.score(state, model.number(word))[0])


class Formula:
    """Chen & Goodman's formula with nothing but counters."""

    def __init__(self, sentences: Sentences, order: int) -> None:
        bounded = [(BEGIN, *words, END) for words in sentences]
        self.order = order
        self.vocabulary = {w for words in bounded for w in words} - {BEGIN} | {UNKNOWN}
        raw = Counter(
            words[i : i + n]
            for words in bounded
            for n in range(1, order + 1)
            for i in range(len(words) - n + 1)
        )
        continuations = Counter(gram[1:] for gram in raw)
        self.counts = {
            gram: count if len(gram) == order or gram[0] == BEGIN else continuations[gram]
            for gram, count in raw.items()
            if gram != (BEGIN,)
        }

    def discounts(self, n: int) -> tuple[float, ...]:
        of = Counter(count for gram, count in self.counts.items() if len(gram) == n)
        if not (of[1] and of[2] and of[3]):
            return FALLBACK
        y = of[1] / (of[1] + 2 * of[2])
        found = tuple(r - (r + 1) * y * of[r + 1] / of[r] for r in (1, 2, 3))
        return found if all(0 < d <= r for r, d in enumerate(found, 1)) else FALLBACK

    def probability(self, context: tuple[str, ...], word: str) -> float:
        context = context[max(0, len(context) - self.order + 1) :]
        word = word if word in self.vocabulary else UNKNOWN
        lower = self.probability(context[1:], word) if context else 1 / len(self.vocabulary)
        followers = {w: self.counts.get((*context, w), 0) for w in self.vocabulary}
        total = sum(followers.values())
        if not total:
            return lower
        d = (0.0, *self.discounts(len(context) + 1))
        gamma = sum(d[min(count, 3)] for count in followers.values()) / total
        return (followers[word] - d[min(followers[word], 3)]) / total + gamma * lower


CONTEXTS = [
    (),
    (BEGIN,),
    (" w1",),
    (" w1", " w2"),
    (BEGIN, " w3"),
    (BEGIN, " w0", " w1", " w2", " w3"),
    (" w7", " w0", " w1"),
    (" w1", " w1", " w1"),  # never seen
    (" unheard", " w2"),
    (" w2", " unheard"),
]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("context", CONTEXTS, ids=lambda context: " ".join(context) or "empty")
def test_probabilities_sum_to_one_in_every_context(order: int, context: tuple[str, ...]) -> None:
    model = train_language_model(random_corpus(0), order=order)
    total = sum(probability(model, context, word) for word in model.words if word != BEGIN)
    assert total == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("num_sentences", [3, 200])
def test_probabilities_are_those_of_the_formula(order: int, num_sentences: int) -> None:
    sentences = random_corpus(1, num_sentences)
    model, formula = train_language_model(sentences, order=order), Formula(sentences, order)
    for context in CONTEXTS:
        for word in (" w0", " w2", " w5", END, UNKNOWN):
            expected = formula.probability(context, word)
            assert probability(model, context, word) == pytest.approx(expected, rel=1e-12)


def test_the_corpora_of_the_test_above_have_both_kinds_of_discounts() -> None:
    assert Formula(random_corpus(1, 200), 3).discounts(3) != FALLBACK
    assert Formula(random_corpus(1, 3), 3).discounts(3) == FALLBACK


def test_the_discounts_of_an_example_are_those_worked_out_by_hand() -> None:
    # n_1 = 8, n_2 = 4, n_3 = 2, n_4 = 1: Y = 8 / 16 = 1/2.
    counts = np.array([1] * 8 + [2] * 4 + [3] * 2 + [4] + [9] * 3)
    assert discounts(counts) == pytest.approx((1 - 1 / 2, 2 - 3 / 4, 3 - 4 / 4))


def test_a_bigram_model_equals_the_one_worked_out_by_hand() -> None:
    # Two sentences, "a b" and "a": every D is the fallback (1/2, 1, 3/2).
    model = train_language_model([[" a", " b"], [" a"]], order=2)
    # Unigrams count the words before: a 1 (⟨s⟩), b 1 (a), ⟨/s⟩ 2 (b and a); total 4.
    # γ = (1/2 + 1/2 + 1) / 4 = 1/2, uniform 1/4 over a, b, ⟨/s⟩ and ⟨unk⟩.
    unigram = {" a": 1 / 4, " b": 1 / 4, END: 1 / 4 + 1 / 8, UNKNOWN: 1 / 8}
    for word, expected in unigram.items():
        assert probability(model, (), word) == pytest.approx(expected)
    # After ⟨s⟩: a twice, D_2 = 1, γ = 1/2.
    assert probability(model, (BEGIN,), " a") == pytest.approx((2 - 1) / 2 + 1 / 2 * 1 / 4)
    assert probability(model, (BEGIN,), " b") == pytest.approx(1 / 2 * 1 / 4)
    # After a: b once and ⟨/s⟩ once, D_1 = 1/2 each, γ = 1/2.
    assert probability(model, (" a",), " b") == pytest.approx((1 - 1 / 2) / 2 + 1 / 2 * 1 / 4)
    assert probability(model, (" a",), END) == pytest.approx((1 - 1 / 2) / 2 + 1 / 2 * 3 / 8)


def test_a_word_that_follows_one_word_only_is_improbable_elsewhere() -> None:
    sentences = [[" san", " francisco"]] * 10 + [[f" w{i}", " street"] for i in range(5)]
    model = train_language_model(sentences, order=2)
    assert probability(model, (), " street") > probability(model, (), " francisco")


def test_a_sentence_has_the_probability_of_its_words() -> None:
    model = train_language_model(random_corpus(2), order=3)
    tokens = [" w1", " w2", " unheard"]
    expected = 1.0
    for i, word in enumerate([*tokens, END]):
        expected *= probability(model, (BEGIN, *tokens[:i]), word)
    assert math.exp(model.log_prob(tokens)) == pytest.approx(expected)
    assert model.perplexity([tokens]) == pytest.approx(expected ** (-1 / 4))


def test_more_context_explains_held_out_text_better() -> None:
    sentences, held_out = random_corpus(3, 2000), random_corpus(4, 200)
    unigram = train_language_model(sentences, order=1).perplexity(held_out)
    bigram = train_language_model(sentences, order=2).perplexity(held_out)
    assert bigram < 0.7 * unigram
    assert 1 < bigram < 11 <= len(train_language_model(sentences, order=1).words)


def test_states_forget_what_cannot_matter() -> None:
    """Contexts that were never continued end in the state of a shorter one."""
    model = train_language_model([[" a", " b", " c"], [" d", " b", " e"]], order=3)
    after = [
        model.score(model.score(0, model.number(first))[1], model.number(" c"))[1]
        for first in (" a", " d")
    ]
    assert after[0] == after[1]


def test_a_file_holds_all_of_it(tmp_path: Path) -> None:
    model = train_language_model([*random_corpus(5), [" l'été", " 猫"]], order=3)
    model.save(tmp_path / "lm.npz")
    again = LanguageModel.load(tmp_path / "lm.npz")
    assert again.words == model.words
    for tokens in random_corpus(6, 5):
        assert again.log_prob(tokens) == model.log_prob(tokens)


GOOD: dict[str, Any] = {
    "format": np.array(1),
    "words": np.frombuffer(b"<s>\n</s>\n<unk>\n a", np.uint8),
    "keys": np.array([0, 1, 2, 3, 7]),
    "suffixes": np.array([0, 0, 0, 0, 0, 4]),
    "log_probs": np.array([0.0, -np.inf, -1.0, -1.0, -1.0, -0.5]),
    "log_backoffs": np.array([0.0, 0.0, -0.5, 0.0, 0.0, 0.0]),
}


def test_the_example_of_the_next_test_is_good(tmp_path: Path) -> None:
    np.savez(tmp_path / "good.npz", **GOOD)
    assert LanguageModel.load(tmp_path / "good.npz").words[3] == " a"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": np.array(2)}, "has format 2"),
        ({"words": np.frombuffer(b"<s>\n</s>\n a\n b", np.uint8)}, "does not begin with"),
        ({"words": np.frombuffer(b"<s>\n</s>\n<unk>\n<s>", np.uint8)}, "has a word twice"),
        ({"keys": np.array([0, 1, 2, 4, 7])}, "a word is missing"),
        ({"keys": np.array([0, 1, 2])}, "a word is missing"),
        ({"keys": np.array([0, 1, 2, 3, 3])}, "out of order"),
        ({"keys": np.array([0, 1, 2, 3, 24])}, "has no beginning"),
        ({"suffixes": np.array([0, 0, 0, 0, 0, 5])}, "its own suffix"),
        ({"suffixes": np.array([0, 0, 0, 0, 0, -1])}, "its own suffix"),
        ({"suffixes": np.array([0, 0, 0])}, "another number of suffixes"),
        ({"log_probs": np.array([0.0, 0, 0, 0, 0, np.nan])}, "a probability is more than 1"),
        ({"log_backoffs": np.array([0.0, 0, 0, 0, 0, 1])}, "a probability is more than 1"),
        ({"log_probs": None}, "has no array 'log_probs'"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    arrays = {name: array for name, array in (GOOD | changes).items() if array is not None}
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(ModelFileError, match=message):
        LanguageModel.load(tmp_path / "bad.npz")
