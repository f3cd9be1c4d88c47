"""Subword pieces: byte-pair encoding and the unigram language model, by SentencePiece."""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from random import Random
from typing import Any

import sentencepiece

from regard.errors import ConfigError, ModelFileError
from regard.text.kind import Kind, SubwordKind
from regard.text.normal import Form, Span, normalised
from regard.text.sampling import BPEDropout, Piece, UnigramSampling, words
from regard.text.tokeniser import (
    SPACE_MARK,
    SPECIAL_PIECES,
    Tokeniser,
    require_distinct,
    shown,
    without_first_space,
)

# The rarest characters, one in ten thousand by count, are spelt in bytes.
CHARACTER_COVERAGE = 0.9999
# Part of the result (the unigram model adds floats up thread by thread), so not the machine's.
TRAINING_THREADS = 4
# Longer texts are cut: the trainer aborts the process on a word beyond 65,535 characters, and
# ▁, which every text begins with, must not become too rare to be covered.
MAX_TRAINING_CHARACTERS = 2_000


class SentencePieces(Tokeniser):
    """Subword pieces learnt from text.

    `bpe`: merge the most frequent pair of pieces, again and again (Sennrich, Haddow & Birch
    2016, section 3.2); sampling leaves each merge out with probability p (BPE-dropout,
    Provilkov, Emelianenko & Voita 2020, section 3).
    `unigram`: the pieces x₁ … x_M with the largest ∏ p(xᵢ); sampling draws from
    P(x)^α / Σ P(x')^α (Kudo 2018, sections 3.2 and 3.3).

    Differs from SentencePiece out of the box in losing nothing: no normalisation inside it,
    spaces kept as they are, and unseen characters spelt in UTF-8 bytes. A ▁ in the text, which
    SentencePiece takes for a space, is spelt in bytes too.
    """

    def __init__(
        self, model: bytes, kind: SubwordKind, *, sampling: float = 0.0, normalise: Form = "none"
    ) -> None:
        """Take a model as SentencePiece serialises it.

        Raises:
            ModelFileError: if it is not one, or not one that can spell every text.
        """
        super().__init__(sampling=sampling, normalise=normalise)
        self._model = model
        self._kind = kind
        self._processor, self._pieces = read_model(model)
        ids = {piece: i for i, piece in enumerate(self._pieces)}
        bytes_pieces = [f"<0x{byte:02X}>" for byte in range(256)]
        # We write the first space ourselves: SentencePiece would put one before every part of
        # a text that contains a ▁.
        self._processor.OverrideNormalizerSpec(add_dummy_prefix=False)
        probe = "  ﬁ  "
        is_lossless = (
            tuple(self._pieces[:4]) == SPECIAL_PIECES
            and ids.keys() >= {SPACE_MARK, *bytes_pieces}
            and self._processor.Normalize(probe) == shown(probe)
        )
        if not is_lossless:
            raise ModelFileError(
                "a SentencePiece model that lacks <pad> <unk> <s> </s> as pieces 0 to 3, ▁ or a "
                "byte, or that normalises; train the tokeniser with Regard"
            )
        self._surfaces = [piece.replace(SPACE_MARK, " ").encode() for piece in self._pieces]
        self._surfaces[:4] = [b"", " ⁇".encode(), b"", b""]
        self._is_byte = [False] * len(self._pieces)
        for byte, piece in enumerate(bytes_pieces):
            self._surfaces[ids[piece]] = bytes([byte])
            self._is_byte[ids[piece]] = True
        self._mark_ids = [ids[f"<0x{byte:02X}>"] for byte in SPACE_MARK.encode()]

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        kind: SubwordKind,
        *,
        vocab_size: int,
        sampling: float = 0.0,
        normalise: Form = "none",
    ) -> "SentencePieces":
        """Learn at most `vocab_size` pieces; less text may hold fewer. Same input, same bytes.

        Raises:
            ConfigError: if the vocabulary has no room for the bytes and characters.
        """
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.Train(
                sentence_iterator=_stretches(normalised(text, normalise) for text in texts),
                model_writer=model,
                model_type=kind,
                vocab_size=vocab_size,
                hard_vocab_limit=False,
                character_coverage=CHARACTER_COVERAGE,
                byte_fallback=True,
                normalization_rule_name="identity",
                remove_extra_whitespaces=False,
                max_sentence_length=4 * MAX_TRAINING_CHARACTERS,
                num_threads=TRAINING_THREADS,
                minloglevel=5,
                pad_id=cls.pad,
                unk_id=cls.unk,
                bos_id=cls.bos,
                eos_id=cls.eos,
                pad_piece=SPECIAL_PIECES[cls.pad],
                unk_piece=SPECIAL_PIECES[cls.unk],
                bos_piece=SPECIAL_PIECES[cls.bos],
                eos_piece=SPECIAL_PIECES[cls.eos],
            )
        except RuntimeError as error:
            needed = re.search(r"smaller than required_chars\. \d+ vs (\d+)", str(error))
            if needed is None:
                raise
            raise ConfigError(
                f"text.vocab_size = {vocab_size:,} is too small: 4 special pieces, 256 bytes and "
                f"the text's own characters need {int(needed[1]):,}; try {2 * int(needed[1]):,} "
                f"or more"
            ) from None
        return cls(model.getvalue(), kind, sampling=sampling, normalise=normalise)

    def __len__(self) -> int:
        return len(self._pieces)

    @property
    def kind(self) -> Kind:
        return self._kind

    def piece(self, id: int) -> str:
        return self._pieces[id]

    def to_bytes(self) -> bytes:
        return self._model

    def encode_ids(self, texts: Sequence[str]) -> list[list[int]]:
        return self._ids([normalised(text, self.normalise) for text in texts])

    def sample_ids(self, texts: Sequence[str], *, seed: int) -> list[list[int]]:
        if self.sampling == 0:
            return self.encode_ids(texts)
        random = Random(seed)
        return [self._sampled(normalised(text, self.normalise), random) for text in texts]

    def _sampled(self, form: str, random: Random) -> list[int]:
        parts = (" " + form).split(SPACE_MARK) if form else [""]
        cuts = (
            [id for word in words(shown(p)) for id in self._sample(word, random)] for p in parts
        )
        return self._with_marks(iter(cuts))

    @cached_property
    def _sample(self) -> BPEDropout | UnigramSampling:
        score = self._processor.GetScore
        pieces = {
            piece: Piece(id, score(id))
            for id, piece in enumerate(self._pieces)
            if id >= len(SPECIAL_PIECES) and not self._is_byte[id]
        }
        byte_ids = {self._surfaces[id]: id for id, is_byte in enumerate(self._is_byte) if is_byte}

        def spell(character: str) -> list[int]:
            return [byte_ids[bytes([byte])] for byte in character.encode()]

        kind = BPEDropout if self._kind == "bpe" else UnigramSampling
        return kind(pieces, spell, self.sampling)

    def _ids(self, forms: Sequence[str]) -> list[list[int]]:
        prefixed = [" " + form if form else "" for form in forms]
        if not any(SPACE_MARK in text for text in prefixed):
            ids: list[list[int]] = self._processor.Encode(prefixed)
            return ids
        parts = [text.split(SPACE_MARK) for text in prefixed]
        encoded = iter(self._processor.Encode([part for text in parts for part in text]))
        return [self._with_marks(islice(encoded, len(text))) for text in parts]

    def _with_marks(self, parts: Iterator[list[int]]) -> list[int]:
        ids = list(next(parts))
        for part in parts:
            ids += self._mark_ids
            ids += part
        return ids

    def _cut(self, text: str) -> list[tuple[int, Span]]:
        return self._located(text, self._ids([text])[0])

    def _located(self, text: str, ids: Sequence[int]) -> list[tuple[int, Span]]:
        cut: list[tuple[int, Span]] = []
        start = -1  # of the space we put before the text
        bytes_left = 0  # of the character at `start`, while it is being spelt
        for id in ids:
            if self._is_byte[id]:
                bytes_left = bytes_left or len(text[start].encode())
                cut.append((id, (start, start + 1)))
                bytes_left -= 1
                start += bytes_left == 0
            else:
                end = start + len(self._pieces[id])
                cut.append((id, (max(start, 0), end)))
                start = end
        return cut

    def _surface(self, id: int) -> bytes:
        return self._surfaces[id]

    def _joined(self, surfaces: Iterable[bytes]) -> str:
        return without_first_space(super()._joined(surfaces))


def read_model(model: bytes) -> tuple[Any, list[str]]:
    """SentencePiece's processor for a model as it serialises it, and the model's pieces.

    Raises:
        ModelFileError: it is not one, or has a piece twice.
    """
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
        pieces = [processor.IdToPiece(id) for id in range(processor.GetPieceSize())]
    except (RuntimeError, UnicodeDecodeError):  # the latter: a piece that is not UTF-8
        raise ModelFileError("not a SentencePiece model; train the tokeniser again") from None
    require_distinct(pieces)
    return processor, pieces


def _stretches(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for start in range(0, len(text), MAX_TRAINING_CHARACTERS):
            yield text[start : start + MAX_TRAINING_CHARACTERS]
