"""A browser for the tests of the page, and pages that have a network or none."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.page.browser import FLAGS, find_chromium, opened
from tests.page.stage import PLAIN, TRUSTED, Stage

# A busy machine is no reason to fail: no test here measures time. In milliseconds.
expect.set_options(timeout=60_000)


# Not for the session: playwright keeps an event loop running in this thread, beside which
# other modules' tests could run none of their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = find_chromium()
    if path is None:
        pytest.skip("no chromium on this machine; `make browser` installs it where it can")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page without a network; an error of its scripts, or a request, fails the test."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    context.set_offline(True)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(("file:", "data:", "blob:"))
            else wrong.append(f"asked for {request.url}")
        ),
    )
    yield page
    context.close()
    assert not wrong


@pytest.fixture
def stage(browser: Browser) -> Iterator[Stage]:
    """The served pages with answers that a test may set."""
    with opened(browser, TRUSTED, PLAIN) as page:
        yield Stage(page)
