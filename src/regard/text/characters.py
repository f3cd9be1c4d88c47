"""Every character is a piece."""

from typing import final

from regard.text.kind import Kind
from regard.text.listed import Listed
from regard.text.normal import Span


@final
class Characters(Listed):
    """A vocabulary of characters (Unicode code points)."""

    @property
    def kind(self) -> Kind:
        return "characters"

    @classmethod
    def stretches(cls, text: str) -> list[Span]:
        return [(i, i + 1) for i in range(len(text))]
