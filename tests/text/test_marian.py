"""Pieces whose numbers come from a list of their own."""

import io

import pytest
import sentencepiece
from hypothesis import example, given
from hypothesis import strategies as st

from regard.errors import ConfigError, ModelFileError
from regard.text.config import TextConfig
from regard.text.marian import MarianPieces, SpecialIds
from regard.text.train import train_tokenisers

from .corpora import FRENCH, sentences

SPECIALS = SpecialIds(pad=5, unk=1, start=5, eos=0)


def trained_model() -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(sentences(FRENCH)),
        model_writer=model,
        model_type="unigram",
        vocab_size=80,
        hard_vocab_limit=False,
        minloglevel=5,
    )
    return model.getvalue()


MODEL = trained_model()


def pieces_of(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(model)
    return [processor.IdToPiece(id) for id in range(3, len(processor))]


VOCABULARY = ["</s>", "<unk>", ">>fr<<", "nowhere", "▁else", "<pad>", *pieces_of(MODEL)]
TOKENISER = MarianPieces(MODEL, VOCABULARY, SPECIALS)

TEXTS = st.one_of(
    st.text(), st.text("chat été  .▁ﬁ½…'"), st.builds(">>fr<<{}".format, st.text("le chat"))
)


@given(TEXTS)
def test_encode_and_encode_ids_agree(text: str) -> None:
    assert list(TOKENISER.encode(text).ids) == TOKENISER.encode_ids([text])[0]


@given(TEXTS)
@example("le  chat ")
def test_the_spans_go_forward_and_leave_nothing_out(text: str) -> None:
    offsets = TOKENISER.encode(text).offsets
    assert all(start <= end for start, end in offsets)
    assert list(offsets) == sorted(offsets)
    covered = {i for start, end in offsets for i in range(start, end)}
    assert not offsets or covered == set(range(len(text)))


@pytest.mark.parametrize("text", sentences(FRENCH, count=5, seed=9))
def test_a_plain_sentence_comes_back(text: str) -> None:
    assert TOKENISER.decode(TOKENISER.encode_ids([text])[0]) == text


def test_a_language_code_is_one_piece() -> None:
    encoded = TOKENISER.encode(">>fr<<le chat")
    assert encoded.pieces[0] == ">>fr<<"
    assert encoded.offsets[0] == (0, 6)


def test_a_piece_that_the_vocabulary_lacks_is_unknown() -> None:
    lacking = MarianPieces(MODEL, VOCABULARY[:6], SPECIALS)
    assert set(lacking.encode_ids(["le chat"])[0]) == {lacking.unk}


def test_special_pieces_read_as_nothing() -> None:
    assert TOKENISER.decode([5, 0]) == ""


def test_its_file_holds_all_of_it() -> None:
    back = MarianPieces.from_bytes(TOKENISER.to_bytes())
    assert back.to_bytes() == TOKENISER.to_bytes()
    assert back.specials == SPECIALS


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", TOKENISER.to_bytes().replace(b'"pad": 5', b'"pad": -1')]
)
def test_any_other_file_is_refused(content: bytes) -> None:
    with pytest.raises(ModelFileError, match="import the model again"):
        MarianPieces.from_bytes(content)


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        ([*VOCABULARY, "nowhere"], "the piece 'nowhere' stands in the vocabulary twice"),
        (VOCABULARY[:3], "the special id 5 is beyond the 3 pieces"),
    ],
)
def test_a_vocabulary_that_does_not_fit_is_refused(vocabulary: list[str], message: str) -> None:
    with pytest.raises(ModelFileError) as error:
        MarianPieces(MODEL, vocabulary, SPECIALS)
    assert str(error.value) == message


def test_it_cannot_be_learned() -> None:
    with pytest.raises(ConfigError, match='set "bpe" or "unigram"'):
        train_tokenisers(TextConfig(kind="marian"), ["a"], ["b"])
