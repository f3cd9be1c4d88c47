"""The pieces of an imported Marian model: SentencePiece cuts, a list gives the numbers."""

import base64
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, final

from annotated_types import Ge, MinLen
from pydantic import TypeAdapter, ValidationError

from regard.errors import ModelFileError
from regard.text.kind import Kind
from regard.text.normal import Form, Span, normalised
from regard.text.sentencepieces import read_model
from regard.text.tokeniser import SPACE_MARK, Tokeniser, require_distinct, without_first_space

_BYTE = re.compile("<0x[0-9A-F]{2}>")


@dataclass(frozen=True, kw_only=True)
class SpecialIds:
    """Which ids of a vocabulary have a meaning of their own.

    Attributes:
        pad: fills up a batch.
        unk: any piece that is not in the vocabulary.
        start: what the decoder is fed first; Marian has no <s> and takes <pad>.
        eos: the end of a sentence.
    """

    pad: Annotated[int, Ge(0)]
    unk: Annotated[int, Ge(0)]
    start: Annotated[int, Ge(0)]
    eos: Annotated[int, Ge(0)]


@dataclass(frozen=True, kw_only=True)
class _File:
    """What the file of such a tokeniser holds; the SentencePiece model in base 64."""

    specials: SpecialIds
    vocabulary: Annotated[list[str], MinLen(1)]
    sentencepiece: str


@final
class MarianPieces(Tokeniser):
    """A SentencePiece model and a vocabulary apart from it (Junczys-Dowmunt et al. 2018).

    One vocabulary often serves two SentencePiece models, one a language. A piece that it lacks
    is unknown. Text is normalised as the SentencePiece model says, so it need not come back
    as it was. A text may begin with a language to translate to, >>fr<<, which is one piece.
    """

    def __init__(
        self,
        model: bytes,
        vocabulary: Sequence[str],
        specials: SpecialIds,
        *,
        normalise: Form = "none",
    ) -> None:
        """Take a model as SentencePiece serialises it, and the pieces in the order of their ids.

        Raises:
            ModelFileError: the model is not one, or the vocabulary and its special ids do not fit.
        """
        super().__init__(normalise=normalise)
        self.model = model
        self.vocabulary = list(vocabulary)
        self.pad, self.unk = specials.pad, specials.unk
        self.bos, self.eos = specials.start, specials.eos
        self._processor, _ = read_model(model)
        require_distinct(self.vocabulary)
        self._ids = {piece: id for id, piece in enumerate(vocabulary)}
        largest = max(specials.pad, specials.unk, specials.start, specials.eos)
        if largest >= len(self.vocabulary):
            raise ModelFileError(
                f"the special id {largest:,} is beyond the {len(self.vocabulary):,} pieces"
            )
        if self.eos in (self.pad, self.bos):
            raise ModelFileError(f"id {self.eos:,} is both the end and padding or the start")
        self._surfaces = [self._surface_of(piece) for piece in self.vocabulary]
        for id in (self.pad, self.bos, self.eos):
            self._surfaces[id] = b""
        self._surfaces[self.unk] = " ⁇".encode()

    @classmethod
    def from_bytes(cls, data: bytes, *, normalise: Form = "none") -> "MarianPieces":
        """Read what `to_bytes` wrote.

        Raises:
            ModelFileError: if it is anything else.
        """
        try:
            file = TypeAdapter(_File).validate_json(data, strict=True)
            model = base64.b64decode(file.sentencepiece, validate=True)
        except (ValidationError, ValueError):
            raise ModelFileError(
                "not a tokeniser that was imported from Marian; import the model again"
            ) from None
        return cls(model, file.vocabulary, file.specials, normalise=normalise)

    def __len__(self) -> int:
        return len(self.vocabulary)

    @property
    def kind(self) -> Kind:
        return "marian"

    @property
    def specials(self) -> SpecialIds:
        return SpecialIds(pad=self.pad, unk=self.unk, start=self.bos, eos=self.eos)

    def piece(self, id: int) -> str:
        return self.vocabulary[id]

    def to_bytes(self) -> bytes:
        content: dict[str, Any] = {
            "specials": {"pad": self.pad, "unk": self.unk, "start": self.bos, "eos": self.eos},
            "vocabulary": self.vocabulary,
            "sentencepiece": base64.b64encode(self.model).decode("ascii"),
        }
        return json.dumps(content, ensure_ascii=False, indent=0).encode()

    def encode_ids(self, texts: Sequence[str]) -> list[list[int]]:
        parted = [_parted(normalised(text, self.normalise)) for text in texts]
        pieces = self._processor.Encode([text for _, text in parted], return_type=str)
        return [
            [self._ids.get(piece, self.unk) for piece in ([code] if code else []) + cut]
            for (code, _), cut in zip(parted, pieces, strict=True)
        ]

    def _cut(self, text: str) -> list[tuple[int, Span]]:
        code, rest = _parted(text)
        shift = len(code)
        encoded = self._processor.Encode(rest, return_type="offset_mapping")
        pieces: list[str] = encoded["pieces"]
        spans = [(start + shift, end + shift) for start, end in encoded["offsets"]]
        if code:
            pieces, spans = [code, *pieces], [(0, shift), *spans]
        ids = [self._ids.get(piece, self.unk) for piece in pieces]
        return list(zip(ids, _tiled(spans, len(text)), strict=True))

    def _surface(self, id: int) -> bytes:
        return self._surfaces[id]

    def _surface_of(self, piece: str) -> bytes:
        is_byte = self._processor.IsByte(self._processor.PieceToId(piece))
        if is_byte and _BYTE.fullmatch(piece):
            return bytes([int(piece.removeprefix("<0x").removesuffix(">"), 16)])
        return piece.replace(SPACE_MARK, " ").encode()

    def _joined(self, surfaces: Iterable[bytes]) -> str:
        return without_first_space(super()._joined(surfaces))


def _parted(text: str) -> tuple[str, str]:
    """The language code at the front of a text, >>fr<<, and the rest."""
    end = text.find("<<") + 2 if text.startswith(">>") and "<<" in text else 0
    return text[:end], text[end:]


def _tiled(spans: Sequence[Span], length: int) -> list[Span]:
    """Spans as SentencePiece gives them, without gaps.

    What normalisation dropped, such as a second space, goes to the piece after it, and at the
    end to the last. Of several pieces that spell one character only one has its span; all get
    it. The space that stands before the first word has none.
    """
    tiled: list[Span] = []
    done = 0
    for start, end in spans:
        start, done = (done, end) if end > done else (start, done)
        tiled.append((start, end))
    if tiled and done < length:
        tiled[-1] = (tiled[-1][0], length)
    for i in range(len(tiled) - 2, -1, -1):
        start, end = tiled[i]
        if i > 0 and start == end == tiled[i + 1][0]:
            tiled[i] = tiled[i + 1]
    return tiled
