"""The system's chromium, as playwright drives it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page

# The background flags: without them chromium asks its maker's hosts at every start.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_chromium() -> str | None:
    """Where the browser is, if there is one."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


@contextmanager
def opened(browser: Browser, *origins: str) -> Iterator[Page]:
    """A page at the first of these origins.

    An error of its scripts or of its policy, or a request to another origin, fails the test.
    """
    context = browser.new_context(viewport={"width": 1200, "height": 900}, base_url=origins[0])
    page = context.new_page()
    wrong: list[str] = []
    allowed = (*(f"{origin}/" for origin in origins), "blob:")
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith(allowed) else wrong.append(f"asked for {request.url}")
        ),
    )
    page.on(
        "console",
        lambda said: wrong.append(said.text) if "Content Security" in said.text else None,
    )
    yield page
    context.close()
    assert not wrong
