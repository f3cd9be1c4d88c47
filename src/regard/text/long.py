"""A sentence longer than a model can take, cut into parts that are not."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence

from regard.text.encoded import Encoded
from regard.text.normal import Span
from regard.text.sentences import Language, split_sentences
from regard.text.tokeniser import Tokeniser

# Where a clause may end; Chinese and Japanese marks need no space after them.
_CLAUSE = re.compile(r"[,;:…–—)\]»”]+(?=\s)|[、，；：。！？]")
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"\S")
_JOINERS = "\u200c\u200d"


def cut_long(
    encoded: Encoded, tokeniser: Tokeniser, max_pieces: int, language: Language | None = None
) -> list[Span]:
    """Spans of a text, each of at most `max_pieces` pieces: the fewest that the marks allow.

    Each part is as long as fits and ends at the last end of a sentence in it; where it has none,
    at the last mark of a clause (, ; : – and the like); else at the last white space; else
    anywhere, though not before a combining mark. Only white space lies between the parts, so
    with it they give back the text. A part of one character may have more pieces.

    Args:
        encoded: the whole text, cut by the tokeniser.
        tokeniser: what counts pieces.
        max_pieces: of a part.
        language: whose abbreviations end no sentence.
    """
    text = encoded.text
    ends = [end for _, end in encoded.offsets]
    places = (
        [sentence.end for sentence in split_sentences(text, language)],
        [mark.end() for mark in _CLAUSE.finditer(text)],
        [space.start() for space in _SPACE.finditer(text)],
    )
    spans: list[Span] = []
    word = _WORD.search(text)
    while word is not None:
        start = word.start()
        last = bisect_right(ends, start) + max_pieces - 1
        reach = max(ends[last], start + 1) if last < len(ends) - 1 else len(text)
        while True:
            if reach == len(text):
                end = start + len(text[start:].rstrip())
            else:
                end = _last_place(text, start, reach, places)
            # A part is cut anew, and need not have the pieces it had in the whole.
            num_pieces = len(tokeniser.encode_ids([text[start:end]])[0])
            if num_pieces <= max_pieces or end == start + 1:
                break
            reach = max(start + 1, min(end - 1, start + (end - start) * max_pieces // num_pieces))
        spans.append((start, end))
        word = _WORD.search(text, end)
    return spans


def _last_place(text: str, start: int, reach: int, places: Sequence[Sequence[int]]) -> int:
    """The best place to end a part that begins at `start`, no further than `reach`."""
    for kind in places:
        index = bisect_right(kind, reach) - 1
        if index >= 0 and kind[index] > start:
            return kind[index]
    end = reach
    while end > start + 1 and end < len(text) and _leans(text, end):
        end -= 1
    return end if end > start + 1 else reach


def _leans(text: str, place: int) -> bool:
    """Whether the character at a place belongs to the one before it."""
    after, before = text[place], text[place - 1]
    return unicodedata.category(after).startswith("M") or after in _JOINERS or before in _JOINERS
