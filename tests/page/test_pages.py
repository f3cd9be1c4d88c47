"""The server's pages in a real browser, against a stand-in for the server."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from regard.api import Translator
from regard.translation import SentenceTranslation
from tests.page.browser import opened
from tests.page.double import Double, serving
from tests.train.recording import write_log

SENTENCE = "Jane visite l'Afrique."
HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
MODELS = ("mine", HOSTILE)


@pytest.fixture(scope="module")
def double(translator: Translator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    run = write_log(tmp_path_factory.mktemp("logged"))
    with serving(translator, run, MODELS) as double:
        yield double


@pytest.fixture
def page(browser: Browser, double: Double) -> Iterator[Page]:
    """A page that reaches the double only."""
    double.asked.clear()
    with opened(browser, double.address) as page:
        yield page


def expected(double: Double, **options: str) -> SentenceTranslation:
    """What the model says; asked of the double, since a model works for one at a time."""
    (found,) = double.translate({"q": SENTENCE, **options}).sentences
    return found


def written(page: Page) -> Locator:
    return page.locator("#view .sentence").nth(1).locator(".word")


def translated(page: Page, text: str = SENTENCE) -> None:
    page.goto("/")
    page.locator("#source").fill(text)
    expect(page.locator("#step-name")).to_have_text(re.compile("Step 1"))


def test_what_is_typed_is_translated_and_looked_into(page: Page, double: Double) -> None:
    translated(page)
    found = expected(double)
    assert found.alignment
    expect(page.locator("#target")).to_have_value(found.text)
    expect(written(page)).to_have_text(list(found.alignment.target))


def test_typing_asks_once_it_pauses(page: Page, double: Double) -> None:
    page.goto("/")
    expect(page.locator("#model option")).to_have_count(len(MODELS))
    page.locator("#source").press_sequentially("Jane voit un livre.", delay=20)
    expect(page.locator("#target")).not_to_have_value("")
    asked = [body["q"] for path, body in double.asked if path == "/attend"]
    assert asked[-1] == "Jane voit un livre."
    assert len(asked) < 5


def test_steps_show_what_was_chosen_and_where_it_looked(page: Page, double: Double) -> None:
    translated(page)
    found = expected(double)
    pieces = [*found.best.target.pieces, "</s>"]
    for number, piece in enumerate(pieces[:3], start=1):
        name = f"Step {number} of {len(pieces)}: {piece}"
        expect(page.locator("#step-name")).to_have_text(name)
        expect(page.locator("#bars dt.chosen")).to_have_text(piece)
        expect(page.locator("#tree g.now text")).to_have_text(piece)
        page.locator("#forward").click()
    page.locator("#step").focus()
    page.keyboard.press("End")
    expect(page.locator("#step-name")).to_contain_text("</s>")
    page.keyboard.press("Home")
    expect(written(page).first).to_have_class("word chosen")


def test_the_tree_shows_what_lived_and_what_was_dropped(page: Page, double: Double) -> None:
    translated(page)
    best = expected(double).best.target.pieces
    expect(page.locator("#tree g.best text")).to_have_text([*best, "</s>"])
    expect(page.locator("#tree g.died")).to_have_count(len(best))
    page.locator("#tree g").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tree-reading")).to_contain_text(f"{best[0]} {best[1]} · probability")


def test_the_model_goes_on_from_an_edited_prefix(page: Page, double: Double) -> None:
    translated(page)
    target = page.locator("#target")
    target.fill("the cat")
    target.press("Control+Enter")
    expect(page.locator("#prefix")).to_contain_text("the cat")
    assert double.asked[-1][1]["prefix"] == "the cat"
    expect(target).to_have_value(expected(double, prefix="the cat").text)
    page.get_by_label("forget the prefix").click()
    expect(target).to_have_value(expected(double).text)


def test_two_models_stand_side_by_side(page: Page, double: Double) -> None:
    translated(page)
    page.locator("#other").select_option(HOSTILE)
    expect(page.locator("#beside-name")).to_have_text(HOSTILE)
    expect(page.locator("#other-view .thumb")).to_have_count(3)  # two heads, and their mean
    page.locator("#view").get_by_role("tab", name="encoder").click()
    expect(page.locator("#other-view").get_by_role("tab", name="encoder")).to_have_attribute(
        "aria-selected", "true"
    )


def test_the_address_opens_the_same_picture(page: Page) -> None:
    translated(page, "Jane visite l'Afrique & « la gare » #1?")
    page.locator("#beam").select_option("1")
    page.locator("#view").get_by_role("tab", name="decoder").click()
    page.locator("#view").get_by_role("button", name="pieces").click()
    expect(page.locator("#forward")).to_be_enabled()
    page.locator("#forward").click()
    shown = page.locator("#view .title span").text_content()
    address, step = page.url, page.locator("#step-name").text_content()
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator("#step-name")).to_have_text(step or "")
    expect(page.locator("#source")).to_have_value("Jane visite l'Afrique & « la gare » #1?")
    expect(page.locator("#view .title span")).to_have_text(shown or "")
    expect(page.locator("#beam")).to_have_value("1")
    assert page.url == address


def test_several_sentences_are_looked_at_one_by_one(page: Page) -> None:
    translated(page, "Jane aime la gare. Elle voit un livre.")
    read = page.locator("#view .sentence").nth(0).locator(".word")
    expect(read.first).to_have_text("Jane")
    page.get_by_role("button", name="sentence 2").click()
    expect(read.first).to_have_text("Elle")
    expect(page.locator("#go-on")).to_be_disabled()


@pytest.mark.parametrize("name", ["html", "png", "json"])
def test_everything_can_be_saved(page: Page, name: str) -> None:
    translated(page)
    with page.expect_download() as saved:
        page.locator(f"#{name}").click()
    content = Path(saved.value.path()).read_bytes()
    assert saved.value.suggested_filename == f"attention.{name}"
    if name == "json":
        weights = json.loads(content)["sentences"][0]["floats"]["weights"]
        assert set(weights) == {"encoder", "decoder", "cross"}
    else:
        assert content.startswith({"html": b"<!doctype html>", "png": b"\x89PNG"}[name])


def test_hostile_text_and_names_stay_text(page: Page) -> None:
    translated(page, f"Jane {HOSTILE}")
    page.locator("#model").select_option(HOSTILE)
    expect(page.locator("#request")).to_contain_text(f'"model": "{HOSTILE}"')
    expect(page.locator("#step-name")).to_have_text(re.compile("Step 1"))
    page.locator("#view").get_by_role("button", name="pieces").click()
    written(page).first.hover()
    page.locator("summary").click()
    expect(page.locator("#request")).to_contain_text("<script>")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0


def test_the_keyboard_alone_reaches_everything(page: Page) -> None:
    translated(page)
    reached: list[str] = []
    page.locator("nav a").first.focus()
    for _ in range(60):
        reached.append(
            page.evaluate(
                """() => { let at = document.activeElement;
                const view = at.tagName === "ATTENTION-VIEW" ? at.id + " " : "";
                at = at.shadowRoot?.activeElement ?? at;
                const part = ".sentence, .tabs, .choice, .tick, .grid, .map, .tree";
                return view + (at.id || at.closest(part)?.className || at.tagName); }"""
            )
        )
        page.keyboard.press("Tab")
        if reached[-1] == "SUMMARY":
            break
    everything = ["model", "beam", "other", "source", "target", "go-on", "view sentence"]
    everything += ["view tabs", "view choice", "view tick", "view grid", "view map", "step"]
    everything += ["forward", "tree", "link", "html", "png", "json", "SUMMARY"]
    places = [reached.index(name) for name in everything]
    assert places == sorted(places)


def test_a_refusal_is_said(page: Page, double: Double) -> None:
    page.goto("/")
    expect(page.locator("#model option")).to_have_count(len(MODELS))
    page.route(
        "**/attend",
        lambda route: route.fulfill(
            status=413, content_type="application/json", body='{"error": "too <b>long</b>"}'
        ),
    )
    page.locator("#source").fill("x")
    expect(page.locator("#status")).to_have_text("too <b>long</b>")


def test_the_weather_follows_the_query(page: Page) -> None:
    page.goto("/page/ideas.html")
    estimate = page.locator("#weather .estimate")
    expect(estimate).to_have_text("Here it is about 31.0 °C, with 48.0 % humidity.")
    query_map = page.locator("#weather svg.map")
    query_map.focus()
    for _ in range(12):
        page.keyboard.press("ArrowLeft")
    expect(estimate).not_to_contain_text("31.0 °C")
    box = query_map.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.up()
    expect(estimate).to_contain_text("31.0 °C")


def test_self_attention_by_hand_can_be_changed(page: Page, double: Double) -> None:
    page.goto("/page/ideas.html")
    outputs = page.locator("#by-hand table").nth(6).locator("td")
    expect(outputs.first).to_have_text("1.8639")
    page.locator("#by-hand .scaled").uncheck()
    expect(outputs.first).to_have_text("1.9366")
    first = page.locator("#by-hand input[type=number]").first
    first.fill("5")
    first.press("Tab")
    expect(outputs.first).not_to_have_text("1.9366")
    changed = [body["inputs"][0][0] for path, body in double.asked if path == "/ideas/by-hand"]
    assert changed == [1, 1, 5]


def test_masks_are_toggled(page: Page) -> None:
    page.goto("/page/ideas.html")
    empty = page.locator("#masks td.empty")
    expect(empty).to_have_count(49 - 25)
    page.locator("#masks .look-ahead").uncheck()
    expect(empty).to_have_count(7 * 2)
    page.locator("#masks .padding").uncheck()
    expect(empty).to_have_count(0)


def test_positions_heads_contexts_and_the_road_are_drawn(page: Page) -> None:
    page.goto("/page/ideas.html")
    expect(page.locator("#positions polyline")).to_have_count(9)
    expect(page.locator("#heads table")).to_have_count(4)
    expect(page.locator("#contexts polyline")).to_have_count(1)
    page.locator("#contexts .word").fill("absent")
    page.locator("#contexts .word").press("Tab")
    expect(page.locator("#contexts .status")).to_contain_text("has no word absent")
    page.locator("#road circle.point").first.click()
    expect(page.locator("#road attention-view .thumb").first).to_be_visible()
    expect(page.locator("#road > div > .reading")).to_have_text(
        "mine: 40.0 BLEU for 1.0e+15 FLOPs."
    )
    page.locator("#road .task").select_option("WMT 2014, en → de")
    expect(page.locator("#road circle.point")).to_have_count(8)
    expect(page.locator("#road line.level")).to_have_count(1)  # ByteNet: the paper gives no FLOPs


def test_a_run_shows_its_curves_and_its_translations(page: Page) -> None:
    page.goto("/page/runs.html")
    expect(page.locator("#standing")).to_contain_text("step 60,")
    expect(page.locator("#loss polyline")).to_have_count(2)
    expect(page.locator("#validation option")).to_have_count(3)
    page.locator("#validation").select_option("20")
    expect(page.locator("#translations tr")).to_have_count(1)
    assert "step=20" in page.url


@pytest.mark.parametrize("path", ["/", "/page/ideas.html", "/page/runs.html"])
def test_pages_fit_a_phone(page: Page, path: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{path}#q=Jane+voit+un+livre.")
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
