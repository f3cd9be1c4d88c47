"""The tokenisers of a Marian folder: source.spm, target.spm, vocab.json."""

from pathlib import Path
from typing import Any

from regard.bounded import read_bounded, shown
from regard.convert.folder import MAX_FILE_BYTES, read_json, write_json
from regard.convert.marian_config import TOKENISER, MarianConfig
from regard.convert.parcel import Parcel
from regard.errors import ConfigError, ModelFileError
from regard.text.marian import MarianPieces, SpecialIds
from regard.text.pair import TokeniserPair
from regard.text.sentencepieces import SentencePieces
from regard.text.tokeniser import Tokeniser

SOURCE = "source.spm"
TARGET = "target.spm"
VOCABULARY = "vocab.json"
TARGET_VOCABULARY = "target_vocab.json"


def write_tokenisers(parcel: Parcel, folder: Path) -> None:
    """Write what transformers' MarianTokenizer reads.

    Raises:
        ConfigError: the tokenisers are not SentencePiece's.
    """
    source, target = parcel.tokenisers.source, parcel.tokenisers.target
    (folder / SOURCE).write_bytes(sentencepiece_model(source))
    (folder / TARGET).write_bytes(sentencepiece_model(target))
    ids = vocabulary_of(source)
    target_ids = vocabulary_of(target)
    write_json(folder / VOCABULARY, ids)
    if target_ids != ids:
        write_json(folder / TARGET_VOCABULARY, target_ids)
    settings: dict[str, Any] = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": parcel.source_language or None,
        "target_lang": parcel.target_language or None,
        "pad_token": target.piece(target.pad),
        "unk_token": target.piece(target.unk),
        "eos_token": target.piece(target.eos),
        "model_max_length": parcel.model.max_positions,
        "separate_vocabs": target_ids != ids,
        "clean_up_tokenization_spaces": False,
    }
    write_json(folder / TOKENISER, settings)


def read_tokenisers(folder: Path, config: MarianConfig) -> TokeniserPair:
    """Read source.spm, target.spm and the vocabulary that gives their pieces ids.

    Raises:
        ModelFileError: one is missing, damaged, or does not fit `config.json`.
    """
    settings = read_settings(folder)
    vocabulary = _read_vocabulary(folder / VOCABULARY, config.vocab_size)
    target_vocabulary = vocabulary
    if settings.get("separate_vocabs"):
        target_vocabulary = _read_vocabulary(folder / TARGET_VOCABULARY, config.target_vocabulary)
    source = _read_pieces(folder, SOURCE, vocabulary, config, settings)
    target = _read_pieces(folder, TARGET, target_vocabulary, config, settings)
    is_joint = source.to_bytes() == target.to_bytes()
    return TokeniserPair(source, source if is_joint else target)


def read_settings(folder: Path) -> dict[str, Any]:
    """`tokenizer_config.json`, which may be missing."""
    path = folder / TOKENISER
    return read_json(path) if path.exists() else {}


def sentencepiece_model(tokeniser: Tokeniser) -> bytes:
    """The SentencePiece model of a tokeniser.

    Raises:
        ConfigError: it has none.
    """
    if isinstance(tokeniser, MarianPieces):
        return tokeniser.model
    if isinstance(tokeniser, SentencePieces):
        return tokeniser.to_bytes()
    raise ConfigError(
        f'text.kind = "{tokeniser.kind}": Marian cuts text with SentencePiece; train a model with '
        'text.kind = "bpe" or "unigram"'
    )


def vocabulary_of(tokeniser: Tokeniser) -> dict[str, int]:
    """Every piece and its id, in the order of the ids."""
    return {tokeniser.piece(id): id for id in range(len(tokeniser))}


def _read_vocabulary(path: Path, size: int) -> list[str]:
    ids = read_json(path)
    if len(ids) != size:
        raise ModelFileError(f"{path}: {len(ids):,} pieces, config.json says {size:,}")
    pieces: list[str | None] = [None] * size
    for piece, id in ids.items():
        if type(id) is not int or not 0 <= id < size or pieces[id] is not None:
            raise ModelFileError(
                f"{path}: {shown(piece)} has id {shown(id)}; "
                f"expected each of 0 to {size - 1:,} once"
            )
        pieces[id] = piece
    return [piece for piece in pieces if piece is not None]


def _read_pieces(
    folder: Path, name: str, vocabulary: list[str], config: MarianConfig, settings: dict[str, Any]
) -> MarianPieces:
    unknown = _text(settings.get("unk_token", "<unk>"))
    if unknown not in vocabulary:
        raise ModelFileError(f"{folder / VOCABULARY}: no piece {shown(unknown)} for unknown words")
    specials = SpecialIds(
        pad=config.pad_token_id,
        unk=vocabulary.index(unknown),
        start=config.decoder_start_token_id,
        eos=config.eos_token_id,
    )
    path = folder / name
    content = read_bounded(path, MAX_FILE_BYTES)
    try:
        return MarianPieces(content, vocabulary, specials)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def _text(token: Any) -> str:
    """A special token, which may be written as an object with its text in it."""
    return str(token.get("content")) if isinstance(token, dict) else str(token)
