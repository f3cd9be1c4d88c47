"""HTML in, HTML out: the text between tags is translated, the tags stay where they are."""

import html
from collections.abc import Iterator
from html.parser import HTMLParser


class Plain:
    """A text without markup, seen as a document."""

    def __init__(self, text: str) -> None:
        self.texts = [text]

    def joined(self, translations: list[str]) -> str:
        return translations[0]


class Markup:
    """A document as a row of text and tags.

    The stretches of text are translated apart from one another, so a tag inside a sentence cuts
    it in two. What `script` and `style` hold, and comments, are left alone.

    Raises:
        ValueError: it cannot be read as HTML.
    """

    def __init__(self, document: str) -> None:
        splitter = _Splitter()
        try:
            splitter.feed(document)
            splitter.close()
        except AssertionError:  # so the parser puts it
            raise ValueError("a declaration <![…] makes no sense") from None
        self._parts = splitter.parts

    @property
    def texts(self) -> list[str]:
        """What is to be translated, without the white space around it."""
        return [text.strip() for text in self._stretches()]

    def joined(self, translations: list[str]) -> str:
        """The document with its texts translated."""
        upcoming = iter(translations)
        written = []
        for is_text, part in self._parts:
            if not is_text or not part.strip():
                written.append(part)
                continue
            before = part[: len(part) - len(part.lstrip())]
            after = part[len(part.rstrip()) :]
            written.append(f"{before}{html.escape(next(upcoming), quote=False)}{after}")
        return "".join(written)

    def _stretches(self) -> Iterator[str]:
        return (part for is_text, part in self._parts if is_text and part.strip())


class _Splitter(HTMLParser):
    """Cuts a document into (is text, part)."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[tuple[bool, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._keep(self.get_starttag_text() or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._keep(self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        self._keep(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self.parts.append((self.cdata_elem is None, data))

    def handle_comment(self, data: str) -> None:
        self._keep(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self._keep(f"<!{decl}>")

    def unknown_decl(self, data: str) -> None:
        self._keep(f"<![{data}]>")

    def handle_pi(self, data: str) -> None:
        self._keep(f"<?{data}>")

    def _keep(self, part: str) -> None:
        self.parts.append((False, part))
