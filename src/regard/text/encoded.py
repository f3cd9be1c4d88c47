"""What a tokeniser makes of a text."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text cut into pieces that remember where they came from.

    The spans tile the text: each begins where the one before it ends, so a piece's span
    holds the space in front of its word. Only pieces of one and the same character (its
    UTF-8 bytes, or the letters of a ligature taken apart by NFKC) overlap, in that character.

    Attributes:
        text: the text as it was given.
        ids: without <s> and </s>.
        pieces: as shown to people; ▁ stands for a space.
        offsets: half-open spans of characters in `text`.
        is_lowered: the text is in capitals, and the pieces are of small letters.
    """

    text: str
    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    offsets: tuple[tuple[int, int], ...]
    is_lowered: bool = False
