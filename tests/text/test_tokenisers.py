import unicodedata
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.characters import Characters
from regard.text.kind import Kind
from regard.text.normal import Form, well_formed
from regard.text.tokeniser import Tokeniser
from regard.text.words import Words

from .corpora import ENGLISH, KINDS, SUBWORDS, sentences, trained

# Any string at all, and strings of what is likely to go wrong.
NASTY = [" ", "  ", "▁", "\0", "\n", "\t", "\r\n", "\u2028", "\ufeff", "\u200b", "\ud800", "\udfff"]
NASTY += ["<s>", "</s>", "<unk>", "<pad>", "<0x41>", "⁇", "é", "e\u0301", "ﬁ", "①", "ｶﾞ", "\u1112"]
NASTY += [
    "\u1161",
    "\u11ab",
    "\u0334",
    "क्षि",
    "👩‍💻",
    "\U0010ffff",
    "the",
    " cat",
    "l'Afrique",
    ".",
]
TEXTS = st.text(st.characters()) | st.lists(st.sampled_from(NASTY)).map("".join)


@cache
def tokeniser(kind: Kind, normalise: Form = "none", sampling: float = 0.0) -> Tokeniser:
    return trained(kind, normalise=normalise, sampling=sampling).source


@pytest.mark.parametrize("kind", ["bpe", "unigram", "bytes"])
@given(text=TEXTS)
def test_every_text_comes_back(kind: Kind, text: str) -> None:
    t = tokeniser(kind)
    assert t.decode(t.encode(text).ids) == well_formed(text)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "bytes"])
@given(text=TEXTS)
def test_with_nfkc_the_normalised_text_comes_back(kind: Kind, text: str) -> None:
    t = tokeniser(kind, "nfkc")
    expected = unicodedata.normalize("NFKC", well_formed(text))
    assert t.decode(t.encode(text).ids) == expected


@pytest.mark.parametrize("kind", ["words", "characters"])
@given(text=TEXTS | st.text("the cat. \nl'A", max_size=30))
def test_a_text_of_known_pieces_comes_back(kind: Kind, text: str) -> None:
    t = tokeniser(kind)
    ids = t.encode(text).ids
    assert t.unk in ids or t.decode(ids) == text


@pytest.mark.parametrize("cls", [Words, Characters])
@given(texts=st.lists(TEXTS, min_size=1))
def test_what_was_learnt_from_comes_back(
    cls: type[Words] | type[Characters], texts: list[str]
) -> None:
    t = cls.train(texts, vocab_size=10_000)
    assert [t.decode(ids) for ids in t.encode_ids(texts)] == list(map(well_formed, texts))


@pytest.mark.parametrize("sampling", [0.0, 0.3])
@pytest.mark.parametrize("kind", SUBWORDS)
@given(texts=st.lists(TEXTS, max_size=4), seed=st.integers(0, 2**40))
def test_a_sampled_text_comes_back(
    kind: Kind, sampling: float, texts: list[str], seed: int
) -> None:
    t = tokeniser(kind, "none", sampling)
    assert [t.decode(ids) for ids in t.sample_ids(texts, seed=seed)] == list(
        map(well_formed, texts)
    )


@pytest.mark.parametrize("form", ["none", "nfkc", "lower"])
@pytest.mark.parametrize("kind", KINDS)
@given(text=TEXTS)
def test_usual_ids_are_located_where_encoding_finds_them(kind: Kind, form: Form, text: str) -> None:
    t = tokeniser(kind, form)
    assert t.locate(text, t.encode_ids([text])[0]) == t.encode(text)


@pytest.mark.parametrize("kind", SUBWORDS)
@given(text=TEXTS, seed=st.integers(0, 99))
def test_sampled_pieces_stand_where_their_text_does(kind: Kind, text: str, seed: int) -> None:
    t = tokeniser(kind, sampling=0.3)
    (ids,) = t.sample_ids([text], seed=seed)
    located = t.locate(text, ids)
    assert list(located.ids) == ids
    # What the pieces spell is known from the pieces alone; where, here from the text.
    assert located.offsets == t.spell(ids).offsets


@pytest.mark.parametrize("form", ["none", "nfkc", "lower"])
@pytest.mark.parametrize("kind", KINDS)
@given(texts=st.lists(TEXTS, max_size=4))
def test_many_texts_get_the_ids_of_each(kind: Kind, form: Form, texts: list[str]) -> None:
    t = tokeniser(kind, form)
    assert t.encode_ids(texts) == [list(t.encode(text).ids) for text in texts]


@pytest.mark.parametrize("kind", KINDS)
@given(text=TEXTS)
def test_the_spans_tile_the_text(kind: Kind, text: str) -> None:
    offsets = tokeniser(kind).encode(text).offsets
    # The bytes of one character share its span, and count once here.
    distinct = [s for i, s in enumerate(offsets) if i == 0 or s != offsets[i - 1]]
    ends = [0, *(end for _, end in distinct)]
    assert [start for start, _ in distinct] == ends[:-1]
    assert ends[-1] == len(text)


@pytest.mark.parametrize("kind", KINDS)
@given(text=TEXTS)
def test_with_nfkc_the_spans_are_ordered_and_cover_the_text(kind: Kind, text: str) -> None:
    offsets = tokeniser(kind, "nfkc").encode(text).offsets
    assert list(offsets) == sorted(offsets)
    assert [end for _, end in offsets] == sorted(end for _, end in offsets)
    covered = {i for start, end in offsets for i in range(start, end)}
    assert covered == set(range(len(text)))


@pytest.mark.parametrize("kind", ["bpe", "unigram", "words"])
@given(text=TEXTS)
def test_a_span_holds_what_its_piece_shows(kind: Kind, text: str) -> None:
    encoded = tokeniser(kind).encode(text)
    for piece, (start, end) in zip(encoded.pieces, encoded.offsets, strict=True):
        surface = well_formed(text)[start:end].replace(" ", "▁")
        assert piece.startswith("<0x") or piece in (surface, "▁" + surface)


@pytest.mark.parametrize("kind", SUBWORDS)
def test_the_bytes_of_a_character_share_its_span(kind: Kind) -> None:
    encoded = tokeniser(kind).encode("a😀")
    assert encoded.pieces[-4:] == ("<0xF0>", "<0x9F>", "<0x98>", "<0x80>")
    assert encoded.offsets[-4:] == ((1, 2),) * 4


@pytest.mark.parametrize("kind", ["bpe", "unigram", "bytes"])
def test_in_lower_case_capitals_make_no_difference(kind: Kind) -> None:
    t = tokeniser(kind, "lower")
    small, large = t.encode("the cat"), t.encode("The CAT")
    assert (large.ids, large.offsets) == (small.ids, small.offsets)
    assert t.decode(large.ids) == "the cat"


def test_spans_of_nfkc_refer_to_the_original() -> None:
    encoded = tokeniser("characters", "nfkc").encode("ﬁe\u0301①")
    assert encoded.text == "ﬁe\u0301①"
    assert encoded.offsets == ((0, 1), (0, 1), (1, 3), (3, 4))


def test_the_first_word_is_the_same_piece_as_elsewhere() -> None:
    for kind in ("bpe", "unigram", "words"):
        encoded = tokeniser(kind).encode("the the")
        assert encoded.ids[0] == encoded.ids[1]
        assert encoded.offsets == ((0, 3), (3, 7))


@pytest.mark.parametrize("kind", KINDS)
def test_special_pieces_have_the_first_ids(kind: Kind) -> None:
    t = tokeniser(kind)
    assert (t.pad, t.unk, t.bos, t.eos) == (0, 1, 2, 3)
    assert [t.piece(i) for i in range(4)] == ["<pad>", "<unk>", "<s>", "</s>"]


@pytest.mark.parametrize("kind", KINDS)
def test_special_pieces_are_not_decoded(kind: Kind) -> None:
    t = tokeniser(kind)
    ids = t.encode("the cat").ids
    assert t.decode([t.bos, *ids, t.eos, t.pad, t.pad]) == "the cat"


@pytest.mark.parametrize("kind", KINDS)
@given(text=TEXTS)
def test_text_never_makes_a_special_piece(kind: Kind, text: str) -> None:
    t = tokeniser(kind)
    assert not {t.pad, t.bos, t.eos} & set(t.encode(text).ids)


@pytest.mark.parametrize("kind", KINDS)
def test_any_ids_decode_without_a_crash(kind: Kind) -> None:
    t = tokeniser(kind)
    text = t.decode(list(reversed(range(len(t)))))
    assert text.encode("utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_an_id_beyond_the_vocabulary_is_refused(kind: Kind) -> None:
    t = tokeniser(kind)
    with pytest.raises(IndexError):
        t.piece(len(t))


@pytest.mark.parametrize(("kind", "text"), [("words", "the ⁇"), ("characters", "the ⁇")])
def test_an_unknown_piece_reads_as_a_question_mark(kind: Kind, text: str) -> None:
    t = tokeniser(kind)
    unknown = {"words": "the zebra", "characters": "the ж"}[kind]
    assert t.decode(t.encode(unknown).ids) == text


def test_an_unknown_word_is_still_shown() -> None:
    assert tokeniser("words").encode("the zebra").pieces == ("▁the", "▁zebra")


def test_words_keep_the_space_before_them() -> None:
    assert tokeniser("words").encode("l'Afrique en septembre .").pieces == (
        "▁l'",
        "Afrique",
        "▁en",
        "▁septembre",
        "▁.",
    )


@pytest.mark.parametrize("kind", SUBWORDS)
def test_sampling_is_a_pure_function_of_texts_and_seed(kind: Kind) -> None:
    t = tokeniser(kind, "none", 0.2)
    texts = sentences(ENGLISH)
    first = t.sample_ids(texts, seed=5)
    t.sample_ids(texts[:7], seed=6)
    assert t.sample_ids(texts, seed=5) == first


@pytest.mark.parametrize("kind", SUBWORDS)
def test_another_seed_samples_other_pieces(kind: Kind) -> None:
    t = tokeniser(kind, "none", 0.2)
    texts = sentences(ENGLISH)
    assert t.sample_ids(texts, seed=5) != t.sample_ids(texts, seed=6)


@pytest.mark.parametrize("kind", SUBWORDS)
def test_the_largest_seed_is_a_seed_too(kind: Kind) -> None:
    t = tokeniser(kind, "none", 0.2)
    texts = sentences(ENGLISH)
    seed = 2**32 - 1
    assert t.sample_ids(texts, seed=seed) == t.sample_ids(texts, seed=seed)


@pytest.mark.parametrize("kind", KINDS)
def test_without_sampling_sampled_ids_are_the_usual_ones(kind: Kind) -> None:
    t = tokeniser(kind)
    assert t.sample_ids(sentences(ENGLISH), seed=3) == t.encode_ids(sentences(ENGLISH))
