"""What every tokeniser can do."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from regard.bounded import shown as quoted
from regard.errors import ModelFileError
from regard.text.encoded import Encoded
from regard.text.kind import Kind
from regard.text.normal import Form, Span, normalised, normalised_with_spans

SPACE_MARK = "▁"
SPECIAL_PIECES = ("<pad>", "<unk>", "<s>", "</s>")
# Four times the largest vocabularies in use.
MAX_PIECES = 1_000_000


class Tokeniser(ABC):
    """Cuts text into pieces with numbers, and puts it together again.

        decode(encode(x).ids) = x

    for every text x in the tokeniser's form, unless a piece is unknown. A lone surrogate,
    which no file can hold, is read as U+FFFD.
    """

    # Those that Regard learns have these ids; an imported vocabulary has its own.
    pad: int = 0
    unk: int = 1
    bos: int = 2
    eos: int = 3

    def __init__(self, *, sampling: float = 0.0, normalise: Form = "none") -> None:
        self.sampling = sampling
        self.normalise: Form = normalise

    @abstractmethod
    def __len__(self) -> int:
        """The size of the vocabulary, the four special pieces included."""

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """The name of this kind of tokeniser in a run file."""

    @abstractmethod
    def piece(self, id: int) -> str:
        """The piece as shown to people; ▁ stands for a space."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """The content of the file that `save` writes."""

    @abstractmethod
    def _cut(self, text: str) -> list[tuple[int, Span]]:
        """Ids and their spans in a text that is already normalised."""

    @abstractmethod
    def _surface(self, id: int) -> bytes:
        """The UTF-8 bytes that an id stands for; none for <pad>, <s> and </s>."""

    def encode(self, text: str) -> Encoded:
        """Cut one text, remembering where the pieces came from."""
        form, spans = normalised_with_spans(text, self.normalise)
        return self._encoded(text, form, spans, self._cut(form))

    def locate(self, text: str, ids: Sequence[int]) -> Encoded:
        """What `encode` would give, had it cut the text into these ids as `sample_ids` did."""
        form, spans = normalised_with_spans(text, self.normalise)
        return self._encoded(text, form, spans, self._located(form, ids))

    def _located(self, text: str, ids: Sequence[int]) -> list[tuple[int, Span]]:
        """What `_cut` would give, had it cut the text into these ids."""
        cut = self._cut(text)
        assert [id for id, _ in cut] == list(ids), "one way to cut a text, unless it is sampled"
        return cut

    def _encoded(
        self, text: str, form: str, spans: Sequence[Span], cut: Iterable[tuple[int, Span]]
    ) -> Encoded:
        ids: list[int] = []
        pieces: list[str] = []
        offsets: list[Span] = []
        for id, (start, end) in cut:
            ids.append(id)
            is_unknown = id == self.unk
            pieces.append(shown(form[start:end]) if is_unknown else self.piece(id))
            if start < end:
                offsets.append((spans[start][0], spans[end - 1][1]))
            else:
                offsets.append((0, 0))  # the space that stands before the first word
        return Encoded(text, tuple(ids), tuple(pieces), tuple(offsets))

    def encode_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts: equals `encode(text).ids` for each, and is fast."""
        return [[id for id, _ in self._cut(normalised(t, self.normalise))] for t in texts]

    def sample_ids(self, texts: Sequence[str], *, seed: int) -> list[list[int]]:
        """One of the many ways to cut each text, a pure function of texts and seed.

        Equals `encode_ids` where `sampling` is 0.
        """
        return self.encode_ids(texts)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of a sequence of ids; <pad>, <s> and </s> are skipped, <unk> reads ⁇.

        Bytes that are not UTF-8, which a model is free to write, become U+FFFD.
        """
        return self._joined(self._surface(id) for id in ids)

    def spell(self, ids: Sequence[int]) -> Encoded:
        """The text of a sequence of ids, with the pieces it was put together from.

        Unlike `encode(decode(ids))` it keeps the pieces that were chosen. None of the ids may
        be a special one but <unk>.
        """
        text = self.decode(ids)
        raw = b"".join(self._surface(id) for id in ids)
        # What `decode` left out at the front: the space before the first word.
        shift = len(raw.decode("utf-8", errors="replace")) - len(text)
        offsets = []
        end_byte = 0
        for id in ids:
            start_byte, end_byte = end_byte, end_byte + len(self._surface(id))
            start = len(raw[:start_byte].decode("utf-8", errors="ignore")) - shift
            # Inside a character that several byte pieces spell, its whole span.
            end = len(raw[:end_byte].decode("utf-8", errors="replace")) - shift
            offsets.append((min(max(start, 0), len(text)), min(max(end, 0), len(text))))
        return Encoded(text, tuple(ids), tuple(map(self.piece, ids)), tuple(offsets))

    def _joined(self, surfaces: Iterable[bytes]) -> str:
        return b"".join(surfaces).decode("utf-8", errors="replace")

    def save(self, path: Path) -> None:
        """Write the one file this tokeniser can be read from."""
        path.write_bytes(self.to_bytes())


def require_distinct(pieces: Sequence[str]) -> None:
    """Refuse a vocabulary that is too large, or in which a piece has two ids.

    Raises:
        ModelFileError: naming the number, or the piece.
    """
    if len(pieces) > MAX_PIECES:
        raise ModelFileError(f"{len(pieces):,} pieces; {MAX_PIECES:,} are the most")
    if len(set(pieces)) < len(pieces):
        ((twice, _),) = Counter(pieces).most_common(1)
        raise ModelFileError(f"the piece {quoted(twice)} stands in the vocabulary twice")


def shown(surface: str) -> str:
    """A stretch of text with its spaces made visible."""
    return surface.replace(" ", SPACE_MARK)


def without_first_space(text: str) -> str:
    """Take back the space that was put before the text, so that its first word is like others."""
    return text[1:] if text.startswith(" ") else text
