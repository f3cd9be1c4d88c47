"""HTML in, HTML out: the text between tags is translated, the tags stay where they are."""

import html
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import accumulate

# What a browser shows nothing of, or shows without reading it as HTML.
LEFT_ALONE = (
    "iframe",
    "noembed",
    "noframes",
    "noscript",
    "plaintext",
    "script",
    "style",
    "xmp",
)


class Plain:
    """A text without markup, seen as a document."""

    def __init__(self, text: str) -> None:
        self.texts = [text]

    def joined(self, translations: list[str]) -> str:
        return translations[0]


@dataclass(slots=True)
class _Part:
    """A stretch of a document: where it begins, and the text that it spells, if any."""

    start: int
    text: str | None


class Markup:
    """A document as a row of text and tags.

    The stretches of text are translated apart from one another, so a tag inside a sentence cuts
    it in two. Tags, comments, declarations and what `LEFT_ALONE` holds are copied from the
    document as they stand there: nothing that was inert becomes alive.

    Raises:
        ValueError: it cannot be read as HTML.
    """

    def __init__(self, document: str) -> None:
        splitter = _Splitter(document)
        try:
            splitter.feed(document)
            splitter.close()
        except AssertionError:  # so the parser puts it
            raise ValueError("a declaration <![…] makes no sense") from None
        ends = [*(part.start for part in splitter.parts[1:]), len(document)]
        self._parts = [
            (part.text, document[part.start : end])
            for part, end in zip(splitter.parts, ends, strict=True)
        ]

    @property
    def texts(self) -> list[str]:
        """What is to be translated, without the white space around it."""
        return [text.strip() for text in self._stretches()]

    def joined(self, translations: list[str]) -> str:
        """The document with its texts translated."""
        upcoming = iter(translations)
        written = []
        for text, source in self._parts:
            if text is None or not text.strip():
                written.append(source)
                continue
            before = text[: len(text) - len(text.lstrip())]
            after = text[len(text.rstrip()) :]
            written.append(f"{before}{html.escape(next(upcoming), quote=False)}{after}")
        return "".join(written)

    def _stretches(self) -> Iterator[str]:
        return (text for text, _ in self._parts if text is not None and text.strip())


class _Splitter(HTMLParser):
    """Notes where each part of a document begins.

    Only the places are the parser's word, and the text between tags with its references read.
    """

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.parts = [_Part(0, None)]
        self._lines = [0, *accumulate(len(line) + 1 for line in document.split("\n"))]
        self._within: str | None = None  # the element that is left alone, while it is open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._begin()
        if self._within is None and tag in LEFT_ALONE:
            self._within = tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)  # to a browser the slash means nothing

    def handle_endtag(self, tag: str) -> None:
        self._begin()
        if tag == self._within:
            self._within = None

    def handle_data(self, data: str) -> None:
        if self._within is not None:
            self._begin()
        elif self.parts[-1].text is None:
            self._begin(data)
        else:  # a lone < begins no other stretch
            self.parts[-1].text += data

    def handle_comment(self, data: str) -> None:
        self._begin()

    def handle_decl(self, decl: str) -> None:
        self._begin()

    def unknown_decl(self, data: str) -> None:
        self._begin()

    def handle_pi(self, data: str) -> None:
        self._begin()

    def _begin(self, text: str | None = None) -> None:
        line, column = self.getpos()
        self.parts.append(_Part(self._lines[line - 1] + column, text))
