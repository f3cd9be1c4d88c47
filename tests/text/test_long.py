"""Sentences longer than a model takes: nothing lost, every part fits, cut where one would."""

from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.byte import Bytes
from regard.text.characters import Characters
from regard.text.kind import Kind
from regard.text.long import cut_long
from regard.text.sentencepieces import SentencePieces
from regard.text.tokeniser import Tokeniser
from regard.text.words import Words

CORPUS = ["Jane visite l'Afrique, en septembre; le chat voit la gare.", "漢字、仮名。"] * 20
KINDS: list[Kind] = ["bpe", "unigram", "words", "characters", "bytes"]
hostile = st.text(
    st.sampled_from(list("aé,;: \n\t.!–、漢🤷\u0301\u200d\u2028\x00▁")) | st.characters(),
    max_size=200,
)


@cache
def tokeniser(kind: Kind) -> Tokeniser:
    match kind:
        case "bpe" | "unigram":
            return SentencePieces.train(CORPUS, kind, vocab_size=330, normalise="nfkc")
        case "words":
            return Words.train(CORPUS, vocab_size=50)
        case "characters":
            return Characters.train(CORPUS, vocab_size=50)
        case _:
            return Bytes()


def parts(text: str, max_pieces: int, kind: Kind = "characters") -> list[str]:
    cutter = tokeniser(kind)
    return [text[a:b] for a, b in cut_long(cutter.encode(text), cutter, max_pieces)]


@pytest.mark.parametrize("kind", KINDS)
@given(text=hostile, max_pieces=st.integers(1, 20))
def test_parts_and_the_white_space_between_them_are_the_text(
    kind: Kind, text: str, max_pieces: int
) -> None:
    cutter = tokeniser(kind)
    spans = cut_long(cutter.encode(text), cutter, max_pieces)
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    assert edges == sorted(edges)
    between = [text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    assert not "".join(between).strip()
    assert all(start < end for start, end in spans)
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)


@pytest.mark.parametrize("kind", KINDS)
@given(text=hostile, max_pieces=st.integers(1, 20))
def test_every_part_fits_but_a_single_character(kind: Kind, text: str, max_pieces: int) -> None:
    for part in parts(text, max_pieces, kind):
        num_pieces = len(tokeniser(kind).encode_ids([part])[0])
        assert num_pieces <= max_pieces or len(part) == 1


@given(text=hostile)
def test_what_fits_is_not_cut(text: str) -> None:
    assert parts(text, len(text) + 1) == ([text.strip()] if text.strip() else [])


@pytest.mark.parametrize(
    ("text", "max_pieces", "expected"),
    [
        ("Un chat. Il dort, oui ici.", 20, ["Un chat.", "Il dort, oui ici."]),
        ("un chat dort, oui, ici même", 20, ["un chat dort, oui,", "ici même"]),
        ("un chat dort – ici même", 20, ["un chat dort –", "ici même"]),
        ("un chat dort ici même", 13, ["un chat dort", "ici même"]),
        ("un chat (noir) ici même", 16, ["un chat (noir)", "ici même"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("漢字漢字、仮名仮名。漢字", 6, ["漢字漢字、", "仮名仮名。", "漢字"]),
        ("abce\u0301fgh", 4, ["abc", "e\u0301fg", "h"]),
        ("ab🤷\u200d♀cd", 4, ["ab", "🤷\u200d♀c", "d"]),
        ("e" + "\u0301" * 9, 4, ["e\u0301\u0301\u0301", "\u0301" * 4, "\u0301" * 2]),
        ("3,14 3,14 3,14", 6, ["3,14", "3,14", "3,14"]),
        ("  un  deux  ", 4, ["un", "deux"]),
    ],
)
def test_a_text_is_cut_where_a_reader_would_pause(
    text: str, max_pieces: int, expected: list[str]
) -> None:
    assert parts(text, max_pieces) == expected


def test_a_character_of_more_pieces_than_fit_is_a_part_of_its_own() -> None:
    assert parts("🤷é a🤷", 1, "bytes") == ["🤷", "é", "a", "🤷"]


def test_an_abbreviation_of_the_language_ends_no_sentence() -> None:
    text = "Un an ici. Mme Dupont voit M. Dupont ici."
    cutter = tokeniser("characters")
    spans = cut_long(cutter.encode(text), cutter, 32, "fr")
    assert [text[a:b] for a, b in spans] == ["Un an ici.", "Mme Dupont voit M. Dupont ici."]


@pytest.mark.parametrize("text", ["a" * 50_000, "🤷" * 50_000, "a " * 25_000, "é" * 50_000])
@pytest.mark.parametrize("kind", ["bpe", "bytes"])
def test_the_number_of_cuttings_grows_with_the_parts_alone(
    kind: Kind, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cutter = tokeniser(kind)
    encoded, encode_ids = cutter.encode(text), cutter.encode_ids
    calls: list[int] = []

    def counted(texts: Sequence[str]) -> list[list[int]]:
        calls.append(len(texts))
        return encode_ids(texts)

    monkeypatch.setattr(cutter, "encode_ids", counted)
    # At most once for each byte of the character at the end, and once more.
    assert 5 * len(cut_long(encoded, cutter, 256)) >= len(calls) > 10
