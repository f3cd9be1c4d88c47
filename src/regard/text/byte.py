"""Every byte of UTF-8 is a piece."""

from collections.abc import Sequence
from typing import final

from regard.text.kind import Kind
from regard.text.normal import Span, normalised
from regard.text.tokeniser import SPECIAL_PIECES, Tokeniser, shown

_FIRST = len(SPECIAL_PIECES)
_PIECES = [
    *SPECIAL_PIECES,
    *(shown(chr(byte)) if 0x20 <= byte < 0x7F else f"<0x{byte:02X}>" for byte in range(256)),
]
_SURFACES = [b"", "⁇".encode(), b"", b"", *(bytes([byte]) for byte in range(256))]


@final
class Bytes(Tokeniser):
    """The 256 bytes of UTF-8: nothing to learn, nothing unknown (ByT5, Xue et al. 2022)."""

    def __len__(self) -> int:
        return len(_PIECES)

    @property
    def kind(self) -> Kind:
        return "bytes"

    def piece(self, id: int) -> str:
        return _PIECES[id]

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
        return _SURFACES[id]
