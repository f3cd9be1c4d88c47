"""HTML keeps its tags, and nothing that was inert in it becomes alive."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.serve.markup import LEFT_ALONE, Markup, _Splitter
from tests.serve.running import Running

CLOSED = [tag for tag in LEFT_ALONE if tag != "plaintext"]
INERT = "&lt;/{0}&gt;&lt;script&gt;alert(1)&lt;/script&gt;"


@pytest.fixture(params=["this", "newer"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's parser, and as it is from 3.13.6 on: in a title or textarea `cdata_elem` is set.

    What it hands over is read there as it is elsewhere: `&lt;` has become `<`.
    """
    if request.param == "this":
        return
    handle = _Splitter.handle_data

    def newer(self: _Splitter, data: str) -> None:
        before = self.cdata_elem
        self.cdata_elem = self.lasttag if self.lasttag in ("title", "textarea") else before
        handle(self, data)
        self.cdata_elem = before

    monkeypatch.setattr(_Splitter, "handle_data", newer)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("document", "texts"),
    [
        ("plain", ["plain"]),
        ("", []),
        ("<p>one <b>two</b>\n three</p>", ["one", "two", "three"]),
        ('<a title="a > b">x</a><br/>', ["x"]),
        ("<!-- no --><!DOCTYPE html><style>no</style>yes", ["yes"]),
        ("a &lt;b&gt; &amp; c", ["a <b> & c"]),
        ("a &gt; b", ["a > b"]),
        ("<![CDATA[no > no]]>yes", ["yes"]),
        ("<![CDATA[<b>no</b>]]><i>yes</i>", ["yes"]),
        ("<![if IE]>yes<![endif]>", ["yes"]),
        ("<?php no ?>yes", ["yes"]),
        ("<P >yes</P >\r\n<BR>", ["yes"]),
        ("</>yes", ["yes"]),
        ("yes<script>no &amp; no", ["yes"]),
        ("<script/>no &amp; no</script>yes", ["yes"]),
        ("<title>yes &amp; yes</title><textarea>yes</textarea>", ["yes & yes", "yes"]),
        (f"<title>{INERT.format('title')}</title>", ["</title><script>alert(1)</script>"]),
        ("yes<plaintext>no &amp; <b>no</b>", ["yes"]),
        *((f"<{tag}>no &amp; <b>no</b></{tag}>yes", ["yes"]) for tag in CLOSED),
    ],
)
def test_text_is_taken_out_of_its_tags_and_put_back(document: str, texts: list[str]) -> None:
    markup = Markup(document)
    assert markup.texts == texts
    assert markup.joined(texts) == document
    written = markup.joined(["<script>alert(1)</script>"] * len(texts))
    assert written.count("<script") == document.count("<script")


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("tag", ["title", "textarea", "p", *LEFT_ALONE])
def test_what_was_inert_stays_inert(tag: str) -> None:
    document = f"<{tag}>{INERT.format(tag)}</{tag}>"
    markup = Markup(document)
    assert markup.joined(markup.texts) == document


def test_a_comment_that_the_parser_ends_early_is_not_mended() -> None:
    """A browser reads on to -->; with the space taken away the script would run."""
    document = "<!-- -- ><script>alert(1)</script>-->"
    assert Markup(document).joined(Markup(document).texts).startswith("<!-- -- >")


@given(st.text(alphabet="<>/!-[]a b='\"&;#x\n", max_size=60))
def test_any_document_is_read_or_refused(document: str) -> None:
    try:
        markup = Markup(document)
    except ValueError:
        return
    written = Markup(markup.joined(markup.texts))
    assert written.texts == markup.texts
    assert "".join(source for _, source in markup._parts) == document


def test_what_the_parser_gives_up_on_is_refused(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which documents these are is for each version of Python to say; <![x[ was one."""

    def give_up(*_: Any) -> int:
        raise AssertionError

    monkeypatch.setattr(_Splitter, "parse_html_declaration", give_up)
    reply = server.post("/translate", q="<!doctype html>", format="html")
    assert reply.status == 400
    assert reply.json == {"error": "q: not HTML: a declaration <![…] makes no sense"}
