"""The page is served from its folder and from nowhere else."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from regard.api import Translator
from regard.serve.app import create_app
from regard.serve.desk import Desk
from regard.serve.keys import Keys
from regard.serve.limits import Limits
from regard.serve.shelf import Served, Shelf
from regard.serve.worker import Worker
from tests.serve.running import page_folder

FILES = {"index.html": "<!doctype html>", "js/a.js": "1", "icon.svg": "<svg/>"}


def get(app: Any, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Ask the application itself, with an address as it comes out of a request line."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()],
        "root_path": "",
        "scheme": "http",
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 1),
    }
    asyncio.run(app(scope, receive, send))
    start, *rest = sent
    found = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], found, b"".join(message.get("body", b"") for message in rest)


@pytest.fixture
def app(translator: Translator, tmp_path: Path) -> Any:
    (tmp_path / "secret.js").write_text("secret", "utf-8")
    page_folder(tmp_path / "page-too", {"secret.js": "secret"})
    folder = page_folder(tmp_path / "page", FILES)
    shelf = Shelf([Served("mine", Worker(translator, Limits()))])
    return create_app(Desk(shelf, Keys(), Limits()), folder=folder)


def test_the_page_is_at_the_root_and_its_files_below_page(app: Any) -> None:
    status, headers, content = get(app, "/")
    assert (status, content) == (200, b"<!doctype html>")
    assert headers["content-type"] == "text/html; charset=utf-8"
    for name, kind in (
        ("js/a.js", "text/javascript; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
    ):
        status, headers, content = get(app, f"/page/{name}")
        assert (status, content.decode()) == (200, FILES[name])
        assert (headers["content-type"], headers["cache-control"]) == (kind, "no-cache")
        assert headers["x-content-type-options"] == "nosniff"


def test_a_file_that_a_browser_has_is_not_sent_again(app: Any) -> None:
    _, headers, _ = get(app, "/page/js/a.js")
    status, _, content = get(app, "/page/js/a.js", if_none_match=headers["etag"])
    assert (status, content) == (304, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/page/../secret.js",
        "/page/js/../../secret.js",
        "/page//secret.js",
        "/page/%2e%2e/secret.js",
        "/page/..%2fsecret.js",
        "/page/js/a.js\0",
        "/page/js\\a.js",
        "/page/JS/a.js",
        "/page/",
        "/page/js",
        "/page/index.html/../../secret.js",
        "//secret.js",
        "/page/../page-too/secret.js",
        "/page/%2e%2e/page-too/secret.js",
        "/page-too/secret.js",
        "/page/-too/secret.js",
    ],
)
def test_no_address_leads_out_of_the_folder(app: Any, path: str) -> None:
    status, _, content = get(app, path)
    assert status in (404, 307) and b"secret" not in content


def test_without_a_page_the_root_leads_to_the_document(
    translator: Translator, tmp_path: Path
) -> None:
    shelf = Shelf([Served("mine", Worker(translator, Limits()))])
    bare = create_app(Desk(shelf, Keys(), Limits()), folder=tmp_path / "absent")
    status, headers, _ = get(bare, "/")
    assert (status, headers["location"]) == (307, "/openapi.json")
