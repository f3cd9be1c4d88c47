"""Every byte of UTF-8 is a piece."""

from collections.abc import Sequence
from typing import final

from regard.text.kind import Kind
from regard.text.normal import Span, normalised
from regard.text.tokeniser import SPACE_MARK, SPECIAL_PIECES, Tokeniser

_FIRST = len(SPECIAL_PIECES)


@final
class Bytes(Tokeniser):
    """The 256 bytes of UTF-8: nothing to learn, nothing unknown (ByT5, Xue et al. 2022)."""

    def __len__(self) -> int:
        return _FIRST + 256

    @property
    def kind(self) -> Kind:
        return "bytes"

    def piece(self, id: int) -> str:
        if 0 <= id < _FIRST:
            return SPECIAL_PIECES[id]
        if not _FIRST <= id < len(self):
            raise IndexError(f"no piece has the id {id}")
        byte = id - _FIRST
        if byte == ord(" "):
            return SPACE_MARK
        return chr(byte) if ord(" ") < byte < 0x7F else f"<0x{byte:02X}>"

    def to_bytes(self) -> bytes:
        return b"{}\n"

    def encode_ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [[_FIRST + b for b in normalised(t, self.normalise).encode()] for t in texts]

    def _cut(self, text: str) -> list[tuple[int, Span]]:
        return [
            (_FIRST + byte, (i, i + 1))
            for i, character in enumerate(text)
            for byte in character.encode()
        ]

    def _surface(self, id: int) -> bytes:
        if id == self.unk:
            return "⁇".encode()
        return bytes([id - _FIRST]) if id >= _FIRST else b""
