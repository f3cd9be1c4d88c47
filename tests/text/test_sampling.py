"""Random cuts: the usual one in the limit, as often as the formula says, the same everywhere."""

import math
import subprocess
import sys
from collections import Counter, defaultdict
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.kind import SubwordKind
from regard.text.sampling import BPEDropout, Piece, UnigramSampling, words
from regard.text.sentencepieces import SentencePieces
from regard.text.tokeniser import Tokeniser
from tests.text.corpora import ENGLISH, sentences, trained
from tests.text.test_tokenisers import TEXTS

# a b c ab bc abc: what a word of a, b and c can be cut into.
TOY = {
    surface: Piece(id, -float(id))
    for id, surface in enumerate(["ab", "bc", "abc", "ca", "a", "b", "c"])
}


def spell(character: str) -> list[int]:
    return [1000 + byte for byte in character.encode()]


@cache
def tokeniser(kind: SubwordKind, sampling: float) -> Tokeniser:
    return trained(kind, sampling=sampling).source


@given(text=st.text(st.sampled_from("▁ab c")))
def test_the_words_of_a_text_are_the_text(text: str) -> None:
    assert "".join(words(text)) == text
    assert all("▁" not in word[1:] for word in words(text))


# ------------------------------------------------------------------------------ in the limit


@given(texts=st.lists(TEXTS, max_size=4))
def test_bpe_that_leaves_nothing_out_is_sentencepiece_s(texts: list[str]) -> None:
    t = tokeniser("bpe", 1e-12)
    assert t.sample_ids(texts, seed=1) == t.encode_ids(texts)


@given(text=st.text("ab c", max_size=12))
def test_bpe_that_leaves_everything_out_is_characters(text: str) -> None:
    t = tokeniser("bpe", 1.0)
    (ids,) = t.sample_ids([text], seed=1)
    assert "".join(t.piece(id) for id in ids) == ("▁" + text if text else "").replace(" ", "▁")
    assert all(len(t.piece(id)) == 1 for id in ids)


@given(word=st.text("abc", min_size=1, max_size=8))
def test_a_large_alpha_draws_the_best_cut(word: str) -> None:
    draw = UnigramSampling(TOY, spell, 1000.0)
    best = max(cuts(word), key=lambda cut: sum(TOY[piece].score for piece in cut))
    found = draw(word, Random(1))
    score = {piece.id: piece.score for piece in TOY.values()}
    assert sum(map(score.__getitem__, found)) == sum(TOY[piece].score for piece in best)


# ------------------------------------------------------------------------------ as often as it says


def cuts(word: str) -> list[tuple[str, ...]]:
    """Every way to cut a word into pieces of the toy."""
    found = []
    for ends in product([False, True], repeat=len(word) - 1):
        places = [0, *(i + 1 for i, is_end in enumerate(ends) if is_end), len(word)]
        cut = tuple(word[i:j] for i, j in pairwise(places))
        if all(piece in TOY for piece in cut):
            found.append(cut)
    return found


def frequencies(draw: BPEDropout | UnigramSampling, word: str) -> Counter[tuple[int, ...]]:
    random = Random(7)
    return Counter(tuple(draw(word, random)) for _ in range(20_000))


def assert_shares(found: Counter[tuple[int, ...]], expected: dict[tuple[int, ...], float]) -> None:
    """Within five standard deviations of a share of 20,000 draws."""
    assert found.keys() <= expected.keys()
    for cut, share in expected.items():
        assert found[cut] / 20_000 == pytest.approx(share, abs=5 * math.sqrt(0.25 / 20_000))


@pytest.mark.parametrize("alpha", [0.0, 0.2, 1.0])
def test_unigram_draws_each_cut_by_its_probability(alpha: float) -> None:
    weights = {
        tuple(TOY[piece].id for piece in cut): math.exp(alpha * sum(TOY[p].score for p in cut))
        for cut in cuts("abcab")
    }
    total = sum(weights.values())
    expected = {cut: weight / total for cut, weight in weights.items()}
    assert_shares(frequencies(UnigramSampling(TOY, spell, alpha), "abcab"), expected)


def algorithm_1(symbols: tuple[str, ...], p: float) -> dict[tuple[int, ...], float]:
    """The paper's algorithm with every chance followed: each cut's probability."""
    possible = [
        (TOY[left + right].score, -place)
        for place, (left, right) in enumerate(pairwise(symbols))
        if left + right in TOY
    ]
    shares: dict[tuple[int, ...], float] = defaultdict(float)
    for number, (_, place) in enumerate(sorted(possible, reverse=True)):
        # The better ones are left out, and this one is not.
        merged = (*symbols[:-place], symbols[-place] + symbols[1 - place], *symbols[2 - place :])
        for cut, share in algorithm_1(merged, p).items():
            shares[cut] += p**number * (1 - p) * share
    shares[tuple(TOY[symbol].id for symbol in symbols)] += p ** len(possible)
    return shares


@pytest.mark.parametrize("word", ["abc", "abcab", "cabcabc"])
@pytest.mark.parametrize("p", [0.1, 0.5])
def test_bpe_dropout_draws_each_cut_as_often_as_the_paper_s_algorithm(word: str, p: float) -> None:
    expected = algorithm_1(tuple(word), p)
    assert sum(expected.values()) == pytest.approx(1.0)
    assert_shares(frequencies(BPEDropout(TOY, spell, p), word), expected)


def test_a_character_that_is_no_piece_is_spelt() -> None:
    for draw in (BPEDropout(TOY, spell, 0.5), UnigramSampling(TOY, spell, 0.5)):
        assert draw("é", Random(1)) == spell("é")


# ------------------------------------------------------------------------------ the same everywhere

PROGRAM = """
import sys
from pathlib import Path
from regard.text.sentencepieces import SentencePieces

tokeniser = SentencePieces(Path(sys.argv[1]).read_bytes(), sys.argv[2], sampling=0.2)
print(tokeniser.sample_ids(sys.argv[3:], seed=5))
"""


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_another_process_draws_the_same(kind: SubwordKind, tmp_path: Path) -> None:
    here = tokeniser(kind, 0.2)
    assert isinstance(here, SentencePieces)
    here.save(tmp_path / "model")
    texts = sentences(ENGLISH)[:20]
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "model"), kind, *texts],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == str(here.sample_ids(texts, seed=5))
