"""The table p(target | source) and its file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.align.bitext import UNKNOWN, Bitext
from regard.align.lexicon import FLOOR, Lexicon
from regard.align.model1 import train_model1
from regard.errors import ModelFileError
from tests.align.toy_corpora import make_corpus, monotone


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    corpus = make_corpus(100, monotone, noise=0.2)
    return train_model1(Bitext.of(corpus.sources, corpus.targets)).lexicon


def test_a_file_holds_all_of_it(lexicon: Lexicon, tmp_path: Path) -> None:
    lexicon.save(tmp_path / "lexicon.npz")
    again = Lexicon.load(tmp_path / "lexicon.npz")
    assert (again.source_words, again.target_words) == (lexicon.source_words, lexicon.target_words)
    np.testing.assert_array_equal(again.keys, lexicon.keys)
    np.testing.assert_array_equal(again.probabilities, lexicon.probabilities)


def test_words_of_any_script_survive(tmp_path: Path) -> None:
    words = ["l'été", "猫", "🙂", "\u2028"]
    lexicon = train_model1(Bitext.of([words], [words[::-1]])).lexicon
    lexicon.save(tmp_path / "lexicon.npz")
    assert Lexicon.load(tmp_path / "lexicon.npz").source_words == ("", *words)


def test_translations_come_best_first(lexicon: Lexicon) -> None:
    found = [probability for _, probability in lexicon.translations("w0")]
    assert found == sorted(found, reverse=True)
    assert 0.9 < sum(found) <= 1


@pytest.mark.parametrize("smoothing", [0.0, 0.01, 1.0])
def test_every_row_is_a_distribution(lexicon: Lexicon, smoothing: float) -> None:
    counts = np.random.default_rng(0).random(len(lexicon))
    fitted = lexicon.fitted(counts, smoothing)
    sources = np.arange(len(lexicon.source_words))[:, None]
    targets = np.tile(np.arange(len(lexicon.target_words)), (len(sources), 1))
    np.testing.assert_allclose(fitted.table(sources, targets).sum(1), 1.0, atol=1e-6)


def test_translations_agree_with_the_table(lexicon: Lexicon) -> None:
    source = lexicon.source_index["w3"]
    targets = np.arange(len(lexicon.target_words))[None, :]
    row = lexicon.table(np.array([[source]]), targets)[0, :, 0]
    expected = dict(lexicon.translations("w3"))
    for word, probability in zip(lexicon.target_words, row, strict=True):
        assert probability == pytest.approx(expected.get(word, lexicon.unseen[source]))


def test_smoothing_adds_to_every_count() -> None:
    bitext = Bitext.of([["a"], ["b"]], [["x"], ["y", "z"]])
    fitted = Lexicon.uniform(bitext).fitted(np.ones(len(bitext.keys)), 0.5)
    assert dict(fitted.translations("a")) == {"x": pytest.approx((1 + 0.5) / (1 + 3 * 0.5))}
    assert fitted.unseen[fitted.source_index["a"]] == pytest.approx(0.5 / (1 + 3 * 0.5))


def test_a_shortlist_has_the_best_of_each(lexicon: Lexicon) -> None:
    short = lexicon.keep_best(3)
    for word in lexicon.source_words:
        assert short.translations(word) == lexicon.translations(word, 3)


def test_agreed_is_the_product_of_both_directions() -> None:
    corpus = make_corpus(100, monotone, noise=0.2)
    forward = train_model1(Bitext.of(corpus.sources, corpus.targets)).lexicon
    reverse = train_model1(Bitext.of(corpus.targets, corpus.sources)).lexicon
    agreed = forward.agreed(reverse)
    for word in forward.source_words[1:]:
        products = {
            target: probability * dict(reverse.translations(target))[word]
            for target, probability in forward.translations(word)
        }
        expected = {target: p / sum(products.values()) for target, p in products.items()}
        assert dict(agreed.translations(word)) == pytest.approx(expected)


def test_an_unknown_word_has_no_translations(lexicon: Lexicon) -> None:
    assert lexicon.translations("unheard") == []


def test_unknown_words_have_the_probabilities_of_unseen_ones(lexicon: Lexicon) -> None:
    known = lexicon.source_index["w3"]
    row = lexicon.table(np.array([[known, UNKNOWN]]), np.array([[UNKNOWN]]))[0, 0]
    assert row.tolist() == [lexicon.unseen[known], 1 / len(lexicon.target_words)]


def test_nothing_is_less_than_the_floor(lexicon: Lexicon) -> None:
    sharp = lexicon.fitted(np.zeros(len(lexicon)), 0.0)
    assert sharp.table(np.array([[0, 1]]), np.array([[0, UNKNOWN]])).max() == FLOOR


GOOD: dict[str, Any] = {
    "format": np.array(1),
    "source_words": np.frombuffer(b"\nchat", np.uint8),
    "target_words": np.frombuffer(b"cat\nmat", np.uint8),
    "keys": np.array([0, 2, 3]),
    "probabilities": np.array([0.5, 0.75, 0.25]),
    "unseen": np.array([0.5, 0.5]),
}


def test_the_example_of_the_next_test_is_good(tmp_path: Path) -> None:
    np.savez(tmp_path / "good.npz", **GOOD)
    assert Lexicon.load(tmp_path / "good.npz").translations("chat") == [
        ("cat", 0.75),
        ("mat", 0.25),
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": np.array(2)}, "has format 2, this version reads 1"),
        ({"keys": np.array([0, 3, 2])}, "the word pairs are out of order"),
        ({"keys": np.array([0, 2, 4])}, "the word pairs are out of order"),
        ({"keys": np.array([0.0, 2.0, 3.0])}, "the array 'keys' is of another kind"),
        ({"keys": np.array([0, 2])}, "2 word pairs have 3 probabilities"),
        ({"keys": np.array([], np.int64), "probabilities": np.array([])}, "0 word pairs"),
        ({"probabilities": np.array([0.5, 0.75, 0.5])}, "are not a distribution"),
        ({"probabilities": np.array([0.5, 1.75, -0.75])}, "are not a distribution"),
        ({"probabilities": np.array([0.5, np.nan, 0.5])}, "are not a distribution"),
        ({"unseen": np.array([0.6, 0.0])}, "are not a distribution"),
        ({"unseen": np.array([0.5, -0.5])}, "are not a distribution"),
        ({"unseen": np.array([0.5])}, "2 source words have 1 probabilities of unseen words"),
        ({"source_words": np.frombuffer(b"le\nchat", np.uint8)}, "first source word is not the em"),
        ({"target_words": np.frombuffer(b"cat\ncat", np.uint8)}, "a word is listed twice"),
        ({"target_words": np.frombuffer(b"cat\n\xff", np.uint8)}, "its words are not UTF-8"),
        ({"keys": np.array([{}, 2, 3], object)}, "is damaged or no lexicon"),
        ({"keys": None}, "has no array 'keys'"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    arrays = {name: array for name, array in (GOOD | changes).items() if array is not None}
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(ModelFileError, match=message) as caught:
        Lexicon.load(tmp_path / "bad.npz")
    assert "bad.npz" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and no more", b"\x93NUMPY", b"{}"])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(ModelFileError, match="is damaged or no lexicon"):
        Lexicon.load(tmp_path / "bad.npz")


def test_a_cut_off_file_is_refused(lexicon: Lexicon, tmp_path: Path) -> None:
    lexicon.save(tmp_path / "whole.npz")
    content = (tmp_path / "whole.npz").read_bytes()
    (tmp_path / "bad.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelFileError, match="is damaged or no lexicon"):
        Lexicon.load(tmp_path / "bad.npz")


def test_a_changed_byte_is_noticed(lexicon: Lexicon, tmp_path: Path) -> None:
    lexicon.save(tmp_path / "whole.npz")
    content = bytearray((tmp_path / "whole.npz").read_bytes())
    content[len(content) // 2] ^= 0xFF
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(ModelFileError, match="is damaged or no lexicon"):
        Lexicon.load(tmp_path / "bad.npz")


@pytest.mark.parametrize("name", ["absent.npz", ""])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ModelFileError, match="cannot be read"):
        Lexicon.load(tmp_path / name)


def test_a_place_that_cannot_be_written_is_named(lexicon: Lexicon, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot be written"):
        lexicon.save(tmp_path / "absent" / "lexicon.npz")
