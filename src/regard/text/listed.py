"""Tokenisers whose pieces are a plain list of strings."""

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import ClassVar, TypeVar

from regard.bounded import parse_json
from regard.errors import ModelFileError
from regard.text.normal import Form, Span, normalised
from regard.text.tokeniser import SPECIAL_PIECES, Tokeniser, require_distinct, shown

ListedKind = TypeVar("ListedKind", bound="Listed")


class Listed(Tokeniser):
    """Looks every stretch of text up in a list; what is not in it is unknown."""

    unknown: ClassVar[str] = "⁇"  # what <unk> reads

    def __init__(
        self, surfaces: Sequence[str], *, sampling: float = 0.0, normalise: Form = "none"
    ) -> None:
        """Take the stretches of text that have a number, from 4 on."""
        super().__init__(sampling=sampling, normalise=normalise)
        self._listed = list(surfaces)
        self._ids = {surface: i for i, surface in enumerate(surfaces, len(SPECIAL_PIECES))}
        self._pieces = [*SPECIAL_PIECES, *map(shown, surfaces)]
        self._surfaces = [b"", self.unknown.encode(), b"", b"", *map(str.encode, surfaces)]

    @classmethod
    @abstractmethod
    def stretches(cls, text: str) -> list[Span]:
        """The spans of the text that are looked up; they tile it."""

    @classmethod
    def train(
        cls: type[ListedKind], texts: Iterable[str], *, vocab_size: int, normalise: Form = "none"
    ) -> ListedKind:
        """Take the most frequent stretches; among equals, the first by code point."""
        counts: Counter[str] = Counter()
        for text in texts:
            form = cls._before(normalised(text, normalise))
            counts.update(form[start:end] for start, end in cls.stretches(form))
        ranked = sorted(counts, key=lambda surface: (-counts[surface], surface))
        return cls(ranked[: vocab_size - len(SPECIAL_PIECES)], normalise=normalise)

    @classmethod
    def from_bytes(cls: type[ListedKind], data: bytes, *, normalise: Form = "none") -> ListedKind:
        """Read what `to_bytes` wrote.

        Raises:
            ModelFileError: if it is anything else.
        """
        try:
            surfaces = parse_json(data)
        except ValueError as error:
            raise ModelFileError(f"not JSON ({error}); train the tokeniser again") from None
        if not isinstance(surfaces, list) or not all(isinstance(s, str) and s for s in surfaces):
            raise ModelFileError("not a JSON list of pieces; train the tokeniser again")
        require_distinct(surfaces)
        return cls(surfaces, normalise=normalise)

    def __len__(self) -> int:
        return len(self._pieces)

    def piece(self, id: int) -> str:
        return self._pieces[id]

    def to_bytes(self) -> bytes:
        return json.dumps(self._listed, ensure_ascii=False, indent=0).encode()

    @staticmethod
    def _before(text: str) -> str:
        """The text as it is looked up."""
        return text

    def _surface(self, id: int) -> bytes:
        return self._surfaces[id]

    def _cut(self, text: str) -> list[tuple[int, Span]]:
        form = self._before(text)
        shift = len(form) - len(text)
        return [
            (self._ids.get(form[start:end], self.unk), (max(start - shift, 0), end - shift))
            for start, end in self.stretches(form)
        ]
