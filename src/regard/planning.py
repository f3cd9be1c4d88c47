"""What will be translated of a text: its sentences, and the parts of those that are too long."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from regard.text import capitals
from regard.text.encoded import Encoded
from regard.text.long import cut_long
from regard.text.normal import Span, without_controls
from regard.text.sentences import Language, split_sentences
from regard.text.tokeniser import Tokeniser
from regard.translation import SentenceTranslation, Translation


@dataclass(slots=True)
class Plan:
    """Spans of a text, and each of them in pieces.

    Attributes:
        given: the text as it came.
        text: the same without control characters.
        spans: where its sentences, or their parts, stand in `text`.
        parts: these in pieces.
        num_cut: how many sentences were too long and stand here in parts.
    """

    given: str
    text: str
    spans: list[Span] = field(default_factory=list)
    parts: list[Encoded] = field(default_factory=list)
    num_cut: int = 0

    def beginning(self) -> "Plan":
        """The same for the first of the parts alone."""
        return replace(self, spans=self.spans[:1], parts=self.parts[:1])

    def join(self, sentences: Sequence[SentenceTranslation]) -> Translation:
        """The translations of the parts with the white space that stood between them."""
        joined: list[str] = []
        end = None
        for (start, next_end), sentence in zip(self.spans, sentences, strict=True):
            if end is not None:
                joined.append(self.text[end:start])
            joined.append(sentence.text)
            end = next_end
        return Translation(self.given, "".join(joined), tuple(sentences), self.num_cut)


def plan_text(
    given: str,
    tokeniser: Tokeniser,
    language: str,
    *,
    max_pieces: int | None,
    is_split: bool,
) -> Plan:
    """The sentences of a text, or their parts; none where it is empty.

    Args:
        given: the text as it came.
        tokeniser: what cuts it into pieces.
        language: for splitting sentences; may be empty.
        max_pieces: of a sentence; a longer one is cut (`text.long`).
        is_split: whether the text may hold several sentences.
    """
    text = "\n".join(without_controls(line)[0] for line in given.split("\n"))
    known = next((x for x in get_args(Language) if x == language), None)
    if is_split:
        sentences = [(s.start, s.end) for s in split_sentences(text, known)]
    else:
        stripped = text.strip()
        start = text.find(stripped)
        sentences = [(start, start + len(stripped))] if stripped else []
    plan = Plan(given, text)
    for start, end in sentences:
        whole = capitals.encode(text[start:end], tokeniser)
        if max_pieces is None or len(whole.ids) <= max_pieces:
            plan.spans.append((start, end))
            plan.parts.append(whole)
            continue
        plan.num_cut += 1
        for left, right in cut_long(whole, tokeniser, max_pieces, known):
            plan.spans.append((start + left, start + right))
            plan.parts.append(capitals.encode(whole.text[left:right], tokeniser))
    return plan
