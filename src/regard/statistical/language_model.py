"""An n-gram language model with interpolated, modified Kneser–Ney smoothing."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float64, Int64

from regard.arrays import ArrayFile, packed
from regard.statistical.ngrams import ROOT, Level, Trie, number_ngrams

BEGIN, END, UNKNOWN = "<s>", "</s>", "<unk>"
SPECIAL = (BEGIN, END, UNKNOWN)
"""The first three words of every vocabulary; `word_spans` finds none of them in a text."""

ORDER = 4

FALLBACK = (0.5, 1.0, 1.5)
"""D_1, D_2 and D_3+ where a corpus is too small to tell them."""

FILE = ArrayFile(
    what="language model",
    maker="regard baseline train",
    version=1,
    kinds={
        "words": (np.uint8, 1),
        "keys": (np.int64, 1),
        "suffixes": (np.int64, 1),
        "log_probs": (np.float64, 1),
        "log_backoffs": (np.float64, 1),
    },
)


@dataclass(frozen=True)
class LanguageModel:
    """p(w_1 … w_I) as a product of n-gram probabilities, from ⟨s⟩ to ⟨/s⟩.

        p(w | h) = (a(h w) − D(a(h w))) / Σ_v a(h v) + γ(h) · p(w | h')

        γ(h) = (D_1 N_1(h •) + D_2 N_2(h •) + D_3+ N_3+(h •)) / Σ_v a(h v)

    h is the context and h' the same without its first word; N_r(h •) is how many words have
    a(h w) = r. Below the unigrams stands the uniform distribution. Chen & Goodman 1999,
    section 3 (modified Kneser–Ney); the counts a are those of `adjusted_counts`.

    What was seen is stored with its interpolated probability, so that everything else is

        p(w | h) = γ(h) · p(w | h'),        γ(h) = 1 where h was never seen.

    A state of the model is the node of the longest context that can still matter.

    Attributes:
        words: the vocabulary, `SPECIAL` first. All but ⟨s⟩ can be predicted.
        trie: the n-grams that were seen.
        suffixes: for each node that of the n-gram without its first word; the root's own.
        log_probs: log p(last word | the words before it) of each node; 0 at the root.
        log_backoffs: log γ of each node as a context.
    """

    words: tuple[str, ...]
    trie: Trie
    suffixes: Int64[np.ndarray, " nodes"]
    log_probs: Float64[np.ndarray, " nodes"]
    log_backoffs: Float64[np.ndarray, " nodes"]

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def number(self, word: str) -> int:
        """The number of a word, or that of the unknown one."""
        return self.index.get(word, SPECIAL.index(UNKNOWN))

    @cached_property
    def start(self) -> int:
        """The state at the beginning of a sentence."""
        return self._states[1 + SPECIAL.index(BEGIN)]

    @cached_property
    def _children(self) -> dict[int, int]:
        return {key: node for node, key in enumerate(self.trie.keys.tolist(), start=1)}

    @cached_property
    def _plain(self) -> tuple[list[int], list[float], list[float]]:
        """Suffixes, probabilities and back-offs as lists, which give single numbers faster."""
        return self.suffixes.tolist(), self.log_probs.tolist(), self.log_backoffs.tolist()

    @cached_property
    def _states(self) -> list[int]:
        """For each node its longest suffix that was seen as a context, itself included.

        The others have γ = 1 and no children: what follows does not depend on them.
        """
        has_children = np.zeros(len(self.trie), bool)
        has_children[self.trie.keys // self.trie.num_words] = True
        has_children[ROOT] = True
        states = np.arange(len(self.trie))
        while (is_dull := ~has_children[states]).any():
            states[is_dull] = self.suffixes[states[is_dull]]
        found: list[int] = states.tolist()
        return found

    def score(self, state: int, word: int) -> tuple[float, int]:
        """The value of log p(word | context), and the state after the word."""
        suffixes, log_probs, log_backoffs = self._plain
        num_words, children = self.trie.num_words, self._children
        log_prob = 0.0
        while (node := children.get(state * num_words + word)) is None:
            log_prob += log_backoffs[state]
            state = suffixes[state]
        return log_prob + log_probs[node], self._states[node]

    def log_prob(self, tokens: Iterable[str]) -> float:
        """The value of log p of a whole sentence, its end included."""
        state, total = self.start, 0.0
        for word in (*map(self.number, tokens), SPECIAL.index(END)):
            log_prob, state = self.score(state, word)
            total += log_prob
        return total

    def perplexity(self, sentences: Iterable[Sequence[str]]) -> float:
        """exp(−log p / N), the ends of sentences counted among the N words."""
        log_prob, num_words = 0.0, 0
        for tokens in sentences:
            log_prob += self.log_prob(tokens)
            num_words += len(tokens) + 1
        return math.exp(-log_prob / num_words)

    def save(self, path: Path) -> None:
        """Write the model to a file: a zip of plain arrays, no pickle.

        Raises:
            ModelFileError: it cannot be written.
        """
        arrays = {
            "words": packed(self.words),
            "keys": self.trie.keys,
            "suffixes": self.suffixes,
            "log_probs": self.log_probs,
            "log_backoffs": self.log_backoffs,
        }
        FILE.write(path, arrays)

    @classmethod
    def load(cls, path: Path) -> "LanguageModel":
        """Read what `save` wrote.

        Raises:
            ModelFileError: it is missing, damaged or not a language model.
        """
        arrays = FILE.read(path)
        words = FILE.words(arrays["words"], path)
        trie = Trie(arrays["keys"], len(words))
        tables = arrays["suffixes"], arrays["log_probs"], arrays["log_backoffs"]
        fault = _fault(words, trie, *tables)
        if fault:
            raise FILE.refusal(path, fault)
        return cls(words, trie, *tables)


def train_language_model(
    sentences: Sequence[Sequence[str]], *, order: int = ORDER
) -> LanguageModel:
    """Estimate a model from the tokens of sentences.

    Differs from Chen & Goodman: the discounts are those of their closed form, not optimised
    on held-out text, and one ⟨s⟩ stands before a sentence rather than n − 1 of them.

    Args:
        sentences: their tokens.
        order: n.
    """
    known = dict.fromkeys(token for tokens in sentences for token in tokens)
    words = (*SPECIAL, *(word for word in known if word not in SPECIAL))
    index = {word: number for number, word in enumerate(words)}
    begin, end = index[BEGIN], index[END]
    numbered = [[begin, *(index[token] for token in tokens), end] for tokens in sentences]
    trie, levels = number_ngrams(numbered, len(words), order)

    probs, backoffs = np.zeros(len(trie)), np.ones(len(trie))
    suffixes = np.concatenate([[ROOT], *(level.suffixes for level in levels)])
    # Whatever can be predicted is equally probable; ⟨s⟩ is never predicted.
    lower = np.full(len(words), 1 / (len(words) - 1))
    lower[begin] = 0.0
    for number, level in enumerate(levels):
        longer = levels[number + 1] if number + 1 < len(levels) else None
        counts = adjusted_counts(level, longer, levels[0].places == 1 + begin)
        nodes = np.arange(level.nodes.start, level.nodes.stop)
        parents = trie.keys[nodes - 1] // trie.num_words
        if number:
            lower = probs[level.suffixes]
        probs[nodes], weights = interpolated(counts, parents, lower)
        seen = np.unique(parents)
        backoffs[seen] = weights[seen]
    probs[ROOT] = 1.0
    with np.errstate(divide="ignore"):
        return LanguageModel(words, trie, suffixes, np.log(probs), np.log(backoffs))


def adjusted_counts(
    level: Level, longer: Level | None, begins: np.ndarray
) -> Int64[np.ndarray, " size"]:
    """What Kneser and Ney count of n-grams of one length.

        a(w_1 … w_k) = c(w_1 … w_k)                       the longest, and those after ⟨s⟩
        a(w_1 … w_k) = N_1+(• w_1 … w_k) = |{v : c(v w_1 … w_k) > 0}|          all others

    Kneser & Ney 1995; Chen & Goodman 1999, section 2.7. "Francisco" is frequent but follows
    one word only, so it is improbable where nothing is known of the word before. Nothing
    can stand before ⟨s⟩: n-grams that begin with it keep their count, and ⟨s⟩ itself,
    which nothing predicts, has none.

    Args:
        level: the n-grams.
        longer: those with one word more, or None if there are none.
        begins: which places of the corpus hold ⟨s⟩.
    """
    counts = level.counts.copy()
    if longer is not None:
        counts = np.bincount(longer.suffixes - level.first, minlength=len(level.counts))
        kept = level.places[begins & (level.places >= 0)] - level.first
        counts[kept] = level.counts[kept]
    if level.first == 1:
        counts[SPECIAL.index(BEGIN)] = 0
    return counts


def discounts(counts: Int64[np.ndarray, " size"]) -> tuple[float, float, float]:
    """How much of a count of 1, of 2, and of 3 or more is given to what was not seen.

        Y = n_1 / (n_1 + 2 n_2)
        D_1 = 1 − 2Y n_2/n_1        D_2 = 2 − 3Y n_3/n_2        D_3+ = 3 − 4Y n_4/n_3

    n_r n-grams have a count of r. Chen & Goodman 1999, section 3. Differs: where the
    formula divides by zero or leaves 0 < D_r ≤ r, as in small corpora, it is `FALLBACK`.
    """
    n1, n2, n3, n4 = (int((counts == r).sum()) for r in (1, 2, 3, 4))
    if not (n1 and n2 and n3):
        return FALLBACK
    y = n1 / (n1 + 2 * n2)
    found = 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3
    is_usable = all(0 < each <= r for r, each in enumerate(found, start=1))
    return found if is_usable else FALLBACK


def interpolated(
    counts: Int64[np.ndarray, " size"],
    contexts: Int64[np.ndarray, " size"],
    lower: Float64[np.ndarray, " size"],
) -> tuple[Float64[np.ndarray, " size"], Float64[np.ndarray, " contexts"]]:
    """p(w | h) of n-grams of one length, and γ(h), by the formula of `LanguageModel`.

    Args:
        counts: a(h w).
        contexts: the node of h.
        lower: p(w | h').
    """
    discount = np.array([0.0, *discounts(counts)])[np.minimum(counts, 3)]
    totals = np.maximum(np.bincount(contexts, counts), np.finfo(np.float64).tiny)
    # Σ_r D_r N_r(h •) is the sum of the discounts of all that follow h.
    gamma = np.bincount(contexts, discount) / totals
    probs = (counts - discount) / totals[contexts] + gamma[contexts] * lower
    return probs, gamma


def _fault(
    words: Sequence[str],
    trie: Trie,
    suffixes: Int64[np.ndarray, " nodes"],
    log_probs: Float64[np.ndarray, " n"],
    log_backoffs: Float64[np.ndarray, " m"],
) -> str:
    """What is wrong with a model that was read from a file; empty where nothing is."""
    if tuple(words[:3]) != SPECIAL or len(set(words)) < len(words):
        return "its vocabulary does not begin with <s>, </s>, <unk>, or has a word twice"
    if trie.fault():
        return trie.fault()
    if any(len(each) != len(trie) for each in (suffixes, log_probs, log_backoffs)):
        return f"{len(trie):,} n-grams have another number of suffixes or probabilities"
    if (suffixes < 0).any() or (suffixes[1:] >= np.arange(1, len(trie))).any() or suffixes[ROOT]:
        return "an n-gram is its own suffix"
    # Written so that NaN is refused too.
    if not ((log_probs <= 1e-9).all() and (log_backoffs <= 1e-9).all()):
        return "a probability is more than 1"
    return ""
