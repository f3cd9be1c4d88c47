"""What a translation is: its sentences, what each could have been, and what was looked at."""

import html
from dataclasses import dataclass
from typing import Any

from regard.lens.html import html_frame
from regard.lens.record import AttentionRecord
from regard.lens.wire import to_wire
from regard.lens.words import Alignment
from regard.text.encoded import Encoded


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to translate a sentence.

    Attributes:
        target: its text, ids and pieces.
        score: what the search ranks by: log-probability over length penalty.
        log_probs: of each piece and, last, of the end.
    """

    target: Encoded
    score: float
    log_probs: tuple[float, ...]

    @property
    def text(self) -> str:
        return self.target.text


@dataclass(frozen=True, slots=True)
class SentenceTranslation:
    """One sentence and what became of it.

    Attributes:
        source: its text, ids and pieces.
        candidates: the translations found, best first.
        alignment: which target word came from which source word, if asked for.
        attention: every layer and head, if asked for; of an ensemble, its first member's.
    """

    source: Encoded
    candidates: tuple[Candidate, ...]
    alignment: Alignment | None = None
    attention: AttentionRecord | None = None

    @property
    def best(self) -> Candidate:
        return self.candidates[0]

    @property
    def text(self) -> str:
        return self.best.text

    def to_wire(self, model: str = "") -> dict[str, Any]:
        """The attention, which must have been asked for, as a page takes it.

        Args:
            model: a name to show.
        """
        assert self.attention is not None, "attention was asked for"
        return to_wire(self.attention, self.source, self.best.target, model=model)

    def _repr_html_(self) -> str:
        """What a notebook shows: the attention, or else the text."""
        if self.attention is None:
            return f'<p dir="auto">{html.escape(self.text)}</p>'
        return html_frame(self.to_wire())

    def to_json(self) -> dict[str, Any]:
        """Plain lists, numbers and strings."""
        best = self.best
        fields: dict[str, Any] = {
            "source": self.source.text,
            "text": best.text,
            "score": best.score,
            "log_probs": list(best.log_probs),
            "source_pieces": list(self.source.pieces),
            "pieces": list(best.target.pieces),
        }
        if self.alignment is not None:
            fields["source_words"] = list(self.alignment.source)
            fields["words"] = list(self.alignment.target)
            fields["alignment"] = [list(link) for link in self.alignment.links]
        if len(self.candidates) > 1:
            fields["n_best"] = [{"text": c.text, "score": c.score} for c in self.candidates]
        if self.attention is not None:
            fields["attention"] = self.attention.to_json()
        return fields


@dataclass(frozen=True, slots=True)
class Translation:
    """A text and its translation: a sentence, or a paragraph of several.

    Attributes:
        source: what was given.
        text: its translation, with the white space between sentences as it was.
        sentences: the sentences it was cut into; none for an empty text.
        num_cut: how many sentences were too long for the model, and stand in `sentences` in
            parts (`text.long`).
    """

    source: str
    text: str
    sentences: tuple[SentenceTranslation, ...]
    num_cut: int = 0

    @property
    def score(self) -> float:
        """The mean score of the sentences."""
        scores = [sentence.best.score for sentence in self.sentences]
        return sum(scores) / len(scores) if scores else 0.0

    @property
    def pieces(self) -> tuple[str, ...]:
        """The pieces of all sentences."""
        return tuple(piece for s in self.sentences for piece in s.best.target.pieces)

    @property
    def alignment(self) -> tuple[tuple[int, int], ...]:
        """Links (source word, target word) of all sentences, words counted through."""
        links: list[tuple[int, int]] = []
        num_source = num_target = 0
        for sentence in self.sentences:
            if sentence.alignment is not None:
                links += [(i + num_source, j + num_target) for i, j in sentence.alignment.links]
                num_source += len(sentence.alignment.source)
                num_target += len(sentence.alignment.target)
        return tuple(links)

    @property
    def attention(self) -> tuple[AttentionRecord, ...]:
        """One record a sentence, if they were asked for."""
        return tuple(s.attention for s in self.sentences if s.attention is not None)

    def _repr_html_(self) -> str:
        """What a notebook shows: its sentences, one below the other."""
        return "\n".join(sentence._repr_html_() for sentence in self.sentences)

    def to_json(self) -> dict[str, Any]:
        """Plain lists, numbers and strings."""
        return {
            "source": self.source,
            "text": self.text,
            "score": self.score,
            "num_cut": self.num_cut,
            "sentences": [sentence.to_json() for sentence in self.sentences],
        }
