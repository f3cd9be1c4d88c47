"""The pages in a real browser against the real server: the stand-in's answers are its own."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from regard.api import Translator
from tests.road.little_report import SENTENCE as SHOWN
from tests.road.little_report import keep_little_report
from tests.serve.running import Running, running
from tests.train.recording import write_log

SENTENCE = "Jane visite l'Afrique."


@pytest.fixture(scope="module")
def server(translator: Translator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    logged = write_log(tmp_path_factory.mktemp("logged"))
    race = tmp_path_factory.mktemp("race")
    keep_little_report(race)
    with running({"mine": translator}, runs={"logged": logged}, race=race) as found:
        yield found


@pytest.fixture
def page(browser: Browser, server: Running) -> Iterator[Page]:
    """An error of a script, of the policy or of an answer fails the test."""
    context = browser.new_context(base_url=server.address)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("response", lambda r: wrong.append(r.url) if r.status >= 400 else None)
    yield page
    context.close()
    assert not wrong


def test_a_sentence_is_translated_looked_into_and_stepped_through(
    page: Page, translator: Translator
) -> None:
    page.goto("/")
    page.locator("#source").fill(SENTENCE)
    expect(page.locator("#step-name")).to_have_text(re.compile("Step 1"))
    (found,) = translator.translate(SENTENCE).sentences
    expect(page.locator("#target")).to_have_value(found.text)
    expect(page.locator("#tree g.best text")).to_have_text([*found.best.target.pieces, "</s>"])
    expect(page.locator("#bars dt.chosen")).to_have_text(found.best.target.pieces[0])


@pytest.mark.parametrize("name", ["HTML", "JSON"])
def test_what_was_looked_at_can_be_saved(page: Page, name: str, tmp_path: Path) -> None:
    page.goto("/")
    page.locator("#source").fill(SENTENCE)
    expect(page.locator("#step-name")).to_have_text(re.compile("Step 1"))
    with page.expect_download() as saved:
        page.get_by_role("button", name=name, exact=True).click()
    saved.value.save_as(tmp_path / "saved")
    assert (tmp_path / "saved").stat().st_size > 1000


def test_the_ideas_are_computed_by_the_server(page: Page) -> None:
    page.goto("/page/ideas.html")
    expect(page.locator("#weather")).to_contain_text("Here it is about 31.0 °C")
    expect(page.locator("#by-hand")).to_contain_text("1.8639")
    expect(page.locator("#positions polyline")).to_have_count(9)


def test_a_run_is_drawn_from_its_log(page: Page) -> None:
    page.goto("/page/runs.html")
    expect(page.locator("#run option")).to_have_text(["logged"])
    expect(page.locator("#standing")).to_contain_text("step 60")


def test_a_system_of_the_race_shows_its_alignment(page: Page) -> None:
    page.goto("/page/ideas.html")
    road = page.locator("#road")
    expect(road.locator(".task option").first).to_have_text("corpus, fr → en")
    expect(road.locator("line.level")).to_have_count(1)  # a dictionary has no FLOPs
    dictionary, gru = road.locator("circle.point").all()
    dictionary.click()
    expect(road.locator("> div > .reading")).to_have_text("A dictionary: 20.0 BLEU.")
    expect(road.locator(".shown")).to_have_text(f"{SHOWN} → Jane visits")
    read, wrote = road.locator("attention-view .sentence").all()
    expect(read.locator(".word")).to_have_text(["Jane", "visite", "la"])
    wrote.locator(".word").nth(1).hover()
    weights = [word.get_attribute("data-weight") for word in read.locator(".word").all()]
    assert [float(weight or "nan") for weight in weights] == pytest.approx(
        [0, 0.75, 0.25], abs=0.004
    )
    gru.focus()
    page.keyboard.press("Tab")
    expect(road.locator("> div > .reading")).to_have_text("A gru: 20.0 BLEU for 1.0e+12 FLOPs.")
    expect(road.locator("attention-view")).to_be_hidden()
