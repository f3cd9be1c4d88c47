"""Every word and every mark of punctuation is a piece."""

from collections.abc import Iterable
from typing import final

from regard.text.kind import Kind
from regard.text.listed import Listed
from regard.text.normal import Span
from regard.text.spans import word_spans
from regard.text.tokeniser import without_first_space


@final
class Words(Listed):
    """A vocabulary of whole words, as translation had before subwords.

    A piece keeps the one space in front of it, so that "September." (▁September + .) and
    "September ." (▁September + ▁.) differ and both can be put together again. Every other
    white space is a piece of its own.
    """

    unknown = " ⁇"

    @property
    def kind(self) -> Kind:
        return "words"

    @classmethod
    def stretches(cls, text: str) -> list[Span]:
        spans: list[Span] = []
        done = 0
        for start, end in word_spans(text):
            begin = start - 1 if start > done and text[start - 1] == " " else start
            spans.extend((i, i + 1) for i in range(done, begin))
            spans.append((begin, end))
            done = end
        spans.extend((i, i + 1) for i in range(done, len(text)))
        return spans

    @staticmethod
    def _before(text: str) -> str:
        # The first word of a text is the same piece as elsewhere: it too has its space.
        return " " + text if text else ""

    def _joined(self, surfaces: Iterable[bytes]) -> str:
        return without_first_space(super()._joined(surfaces))
