import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from regard.errors import ConfigError, DataError, ModelFileError
from regard.text.config import TextConfig
from regard.text.kind import Kind
from regard.text.pair import TokeniserPair
from regard.text.sentencepieces import SentencePieces
from regard.text.train import train_tokenisers

from .corpora import ENGLISH, FRENCH, KINDS, SUBWORDS, sentences, trained


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_text_gives_the_same_bytes(kind: Kind) -> None:
    assert trained(kind).source.to_bytes() == trained(kind).source.to_bytes()


@pytest.mark.parametrize("kind", SUBWORDS)
def test_training_is_silent(kind: Kind, capfd: pytest.CaptureFixture[str]) -> None:
    trained(kind)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", ["bpe", "words", "characters"])
def test_the_vocabulary_is_as_large_as_asked(kind: Kind) -> None:
    size = {"bpe": 320, "words": 20, "characters": 20}[kind]
    assert len(trained(kind, vocab_size=size).source) == size


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_larger_than_the_text_allows_is_smaller(kind: Kind) -> None:
    assert 4 < len(trained(kind, vocab_size=50_000).source) < 1_000


@pytest.mark.parametrize("kind", SUBWORDS)
@pytest.mark.parametrize("text", ["a", "a\tb", "a\0b", "\0", "a\nb", "▁", "😀", "<s> <0x41> <unk>"])
def test_odd_little_texts_can_be_learnt_from(kind: Kind, text: str) -> None:
    t = train_tokenisers(TextConfig(kind=kind), [text], []).source
    assert t.decode(t.encode(text).ids) == text


def test_a_very_long_word_can_be_learnt_from() -> None:
    word = "x" * 100_000
    t = train_tokenisers(TextConfig(kind="bpe"), [word], []).source
    assert t.decode(t.encode(word).ids) == word


@pytest.mark.parametrize("kind", KINDS)
def test_a_joint_tokeniser_is_one_object(kind: Kind) -> None:
    pair = trained(kind, joint=True)
    assert pair.joint
    assert pair.source is pair.target


@pytest.mark.parametrize("kind", KINDS)
def test_separate_tokenisers_are_learnt_from_their_own_side(kind: Kind) -> None:
    pair = trained(kind, joint=False)
    assert not pair.joint
    config = TextConfig(kind=kind, vocab_size=400)
    alone = train_tokenisers(config, sentences(FRENCH), []).source
    assert pair.source.to_bytes() == alone.to_bytes()


def test_ties_among_words_go_by_code_point() -> None:
    config = TextConfig(kind="words", vocab_size=6)
    words = train_tokenisers(config, ["b c", "a"], ["c"]).source
    assert [words.piece(i) for i in range(4, 6)] == ["▁c", "▁a"]


@pytest.mark.parametrize(
    ("kind", "vocab_size", "message"),
    [
        ("bpe", 100, r"text.vocab_size = 100 is too small: .* need 2\d\d; try 5\d\d or more"),
        ("unigram", 100, r"text.vocab_size = 100 is too small: .* need 2\d\d; try 5\d\d or more"),
    ],
)
def test_too_small_a_vocabulary_is_one_line(kind: Kind, vocab_size: int, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}$"):
        trained(kind, vocab_size=vocab_size)


@pytest.mark.parametrize("kind", ["words", "characters", "bytes"])
def test_sampling_needs_subwords(kind: Kind) -> None:
    with pytest.raises(ConfigError, match=r"^text.sampling = 0.1 needs text.kind = 'bpe' or"):
        TextConfig(kind=kind, sampling=0.1)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "words", "characters"])
@pytest.mark.parametrize(
    ("joint", "source", "message"),
    [
        (True, [], "the training text is empty"),
        (True, ["", " \n"], "the training text is empty"),
        (False, ["a"], "the target side of the training text is empty"),
    ],
)
def test_no_text_is_one_line(kind: Kind, joint: bool, source: list[str], message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}; a tokeniser needs text"):
        train_tokenisers(TextConfig(kind=kind, joint=joint), source, [])


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_pair_loads_as_it_was(kind: Kind, joint: bool, tmp_path: Path) -> None:
    pair = trained(kind, joint=joint, normalise="nfkc")
    pair.save(tmp_path / "new")
    loaded = TokeniserPair.load(tmp_path / "new")
    assert loaded.joint == joint
    assert loaded.fingerprint() == pair.fingerprint()
    texts = [*sentences(ENGLISH), "ﬁ▁\0"]
    assert loaded.target.encode_ids(texts) == pair.target.encode_ids(texts)


def test_sampling_is_saved(tmp_path: Path) -> None:
    pair = trained("bpe", sampling=0.25)
    pair.save(tmp_path)
    loaded = TokeniserPair.load(tmp_path)
    assert loaded.sampling == 0.25
    texts = sentences(ENGLISH)
    assert loaded.source.sample_ids(texts, seed=1) == pair.source.sample_ids(texts, seed=1)


def test_pairs_that_cut_differently_have_different_fingerprints() -> None:
    pairs = [trained("bytes"), trained("bytes", normalise="nfkc"), trained("characters")]
    pairs += [trained("bpe"), trained("bpe", joint=False)]
    assert len({pair.fingerprint() for pair in pairs}) == len(pairs)


def index(text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "tokeniser.json").write_text(text, encoding="utf-8")


def without(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def cut(name: str, size: int) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:size])


INDEX = '{{"kind": "{}", "joint": {}, "sampling": {}, "normalise": "{}"}}'


@pytest.mark.parametrize(
    ("kind", "damage", "message"),
    [
        ("bpe", without("tokeniser.json"), "tokeniser.json: not found; "),
        ("bpe", without("joint.model"), "joint.model: not found; "),
        ("words", without("joint.json"), "joint.json: not found; "),
        ("bpe", cut("joint.model", 1000), "joint.model: not a SentencePiece model; "),
        ("bpe", cut("joint.model", 0), "joint.model: not a SentencePiece model; "),
        ("words", cut("joint.json", 50), "joint.json: not JSON \\("),
        ("characters", cut("joint.json", 0), "joint.json: not JSON \\("),
        ("bpe", index(""), "tokeniser.json: Invalid JSON"),
        ("bpe", index("[]"), "tokeniser.json: "),
        ("bpe", index("{}"), "tokeniser.json: kind: "),
        ("bpe", index(INDEX.format("bp", "true", 0, "none")), "tokeniser.json: kind: .*'bpe', "),
        ("bpe", index(INDEX.format("bpe", '"x"', 0, "none")), "tokeniser.json: joint: "),
        ("bpe", index(INDEX.format("bpe", "true", 2, "none")), "tokeniser.json: sampling: "),
        ("bpe", index(INDEX.format("bpe", "true", 0, "nfd")), "tokeniser.json: normalise: "),
        ("bpe", index(INDEX.format("words", "true", 0, "none")), "joint.json: not found"),
    ],
)
def test_a_damaged_folder_is_named_in_one_line(
    kind: Kind, damage: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    trained(kind).save(tmp_path)
    damage(tmp_path)
    with pytest.raises(ModelFileError, match=message) as caught:
        TokeniserPair.load(tmp_path)
    assert str(caught.value).startswith(str(tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b'{"a": 1}', b"[1]", b'[""]'])
def test_a_list_of_anything_but_pieces_is_refused(content: bytes, tmp_path: Path) -> None:
    trained("words").save(tmp_path)
    (tmp_path / "joint.json").write_bytes(content)
    with pytest.raises(ModelFileError, match="not a JSON list of pieces"):
        TokeniserPair.load(tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        {"byte_fallback": False},
        {"pad_id": -1},
        {"normalization_rule_name": "nfkc"},
        {"remove_extra_whitespaces": True},
    ],
)
def test_a_model_that_cannot_spell_every_text_is_refused(options: dict[str, Any]) -> None:
    ours: dict[str, Any] = {
        "pad_id": 0,
        "unk_id": 1,
        "bos_id": 2,
        "eos_id": 3,
        "byte_fallback": True,
    }
    ours |= {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(sentences(ENGLISH)),
        model_writer=model,
        vocab_size=300,
        hard_vocab_limit=False,
        minloglevel=5,
        **(ours | options),
    )
    with pytest.raises(
        ModelFileError, match=r"^a SentencePiece model that .*; train the tokeniser"
    ):
        SentencePieces(model.getvalue(), "unigram")
