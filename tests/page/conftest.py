"""A browser for the tests of the page, and attention whose weights are known."""

from collections.abc import Iterator

import pytest
import torch
from playwright.sync_api import Browser, Page, expect, sync_playwright

from regard.lens.record import AttentionRecord
from regard.shapes import Tensor
from regard.text.encoded import Encoded
from tests.page.browser import FLAGS, find_chromium

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


SOURCE = Encoded(
    "Jane visite l'Afrique.",
    (4, 5, 6, 7, 8, 9),
    ("▁Jane", "▁vis", "ite", "▁l'", "Afrique", "."),
    ((0, 4), (4, 8), (8, 11), (11, 14), (14, 21), (21, 22)),
)
TARGET = Encoded(
    "Jane visits Africa.",
    (4, 5, 6, 7),
    ("▁Jane", "▁visits", "▁Africa", "."),
    ((0, 4), (4, 11), (11, 18), (18, 19)),
)


def known_record(source: Encoded = SOURCE, target: Encoded = TARGET) -> AttentionRecord:
    """Two layers of two heads; rows of the cross-attention differ, and layer 2 head 1 is apart.

    Layer 2, head 1 looks at one piece only: target piece t at source piece t + 1.
    """
    torch.manual_seed(0)
    num_source, num_target = len(source.pieces) + 1, len(target.pieces) + 1

    def weights(rows: int, columns: int) -> Tensor:
        return torch.randn(2, 2, rows, columns).mul(2).softmax(-1)

    cross = weights(num_target, num_source)
    cross[1, 0] = torch.eye(num_target, num_source).roll(1, 1)
    decoder = weights(num_target, num_target).tril()
    return AttentionRecord(
        (*source.pieces, "</s>"),
        (*target.pieces, "</s>"),
        {
            "encoder": weights(num_source, num_source),
            "decoder": decoder / decoder.sum(-1, keepdim=True),
            "cross": cross,
        },
    )
