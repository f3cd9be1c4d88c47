"""What a reader can do on the pages, by pointer and by key, and what is then to be seen."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from regard.lens.rollout import rollout
from regard.lens.words import merge_to_words
from tests.page.known import SOURCE, TARGET, known_record
from tests.page.stage import PLAIN, Stage, attended, in_words, model, translated, words

PAGES = ["/", "/page/ideas.html", "/page/runs.html"]
REACHED = """() => {
    const at = document.activeElement;
    const panel = at.closest(".panel")?.id;
    return (panel ? panel + " " : "") + (at.id || at.getAttribute("class") || at.tagName);
}"""


def tab_through(page: Page, last: str) -> list[str]:
    """What the Tab key reaches from the first link on, each once, in order."""
    page.locator("nav a").first.focus()
    reached: list[str] = []
    for _ in range(80):
        here = page.evaluate(REACHED)
        reached += [] if here in reached else [here]
        if here == last:
            return reached
        page.keyboard.press("Tab")
    raise AssertionError(f"{last} is not reached, only {reached}")


def test_rivals_stand_with_their_probabilities(stage: Stage) -> None:
    page = translated(stage)
    expect(page.locator("#bars dt")).to_have_text(["▁Jane", "▁rival"])
    expect(page.locator("#bars dd:not(.bar)")).to_have_text(["75 %", "5.0 %"])
    widths = page.locator("#bars .bar span").evaluate_all("all => all.map(bar => bar.style.width)")
    assert widths == ["75%", "5%"]


def test_the_model_goes_on_from_the_caret(stage: Stage) -> None:
    page = translated(stage)
    caret = len("Jane visits ")
    page.locator("#target").evaluate(f"box => box.setSelectionRange({caret}, {caret})")
    page.get_by_role("button", name="Go on from the caret").click()
    expect(page.locator("#prefix")).to_contain_text("begins with “Jane visits”")
    expect(page.locator("#step-name")).to_have_text("Step 1 of 5: ▁Jane")
    for path in ("/attend", "/translate/stream"):
        assert stage.bodies(path)[-1]["prefix"] == "Jane visits"


def test_the_languages_are_swapped_where_a_model_goes_back(stage: Stage) -> None:
    ways = [model("mine"), model("same"), model("german", "en", "de"), model("back", "en", "fr")]
    stage.answers["/models"] = lambda _: ways
    page = translated(stage)
    page.locator("#other").select_option("same")
    expect(page.locator("#beside-name")).to_have_text("same")
    swap = page.get_by_role("button", name="swap the languages")
    expect(page.locator("#from")).to_have_text("fr")
    swap.click()
    expect(page.locator("#source")).to_have_value(TARGET.text)
    expect(page.locator("#model")).to_have_value("back")
    expect(page.locator("#from")).to_have_text("en")
    expect(page.locator("#to")).to_have_text("fr")
    expect(page.locator("#beside")).to_be_hidden()
    expect(page.locator("#step-name")).to_have_text("Step 1 of 5: ▁Jane")
    assert stage.bodies("/attend")[-1] == {"q": TARGET.text, "model": "back"}
    assert "model=back" in page.url
    page.locator("#model").select_option("german")
    expect(swap).to_be_disabled()
    page.locator("#model").select_option("back")
    expect(swap).to_be_enabled()


def test_models_that_name_no_languages_are_not_swapped(stage: Stage) -> None:
    stage.answers["/models"] = lambda _: [model("mine", "", "")]
    page = translated(stage)
    expect(page.get_by_role("button", name="swap the languages")).to_be_disabled()


def test_the_link_is_copied(stage: Stage) -> None:
    page = translated(stage)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#kept")).to_have_text("copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.url


@pytest.mark.parametrize("reason", ["plain", "denied"])
def test_a_link_that_is_not_copied_is_not_said_to_be(stage: Stage, reason: str) -> None:
    page = stage.page
    if reason == "plain":
        page.goto(f"{PLAIN}/#q=Jane")
        assert page.evaluate("navigator.clipboard === undefined")
    else:
        page.goto("/#q=Jane")
        page.evaluate(
            "() => { navigator.clipboard.writeText = () => Promise.reject(new Error()); }"
        )
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#kept")).to_contain_text("the browser does not let the page copy")


def test_what_was_asked_and_answered_can_be_read(stage: Stage) -> None:
    page = translated(stage)
    page.locator("summary").click()
    asked, _, body = (page.locator("#request").text_content() or "").partition("\n")
    assert asked == "POST /attend"
    assert json.loads(body) == stage.bodies("/attend")[-1]
    expect(page.locator("#response")).to_be_visible()
    answered = json.dumps(attended("mine"), indent=2, ensure_ascii=False)
    expect(page.locator("#response")).to_have_text(answered[:4000])


def test_one_modest_sentence_is_to_be_read(stage: Stage) -> None:
    page = translated(stage)
    modest = "Weights show where the model looked, not why."
    expect(page.locator("#view").get_by_text(modest)).to_be_visible()


@pytest.mark.parametrize("kind", ["encoder", "cross"])
def test_mean_and_rollout_show_what_python_computes(stage: Stage, kind: str) -> None:
    page = translated(stage)
    view = page.locator("#view")
    view.get_by_role("tab", name=kind).click()
    view.locator(".thumb[data-layer='2'][data-head='1']").click()
    expect(view.locator(".title span")).to_contain_text("layer 2, head 1")
    record = known_record()
    wanted = {
        "mean": (record.mean("encoder" if kind == "encoder" else "cross"), "mean over layers"),
        "rollout": (rollout(record)["encoder" if kind == "encoder" else "cross"], "rolled out"),
    }
    for name, (matrix, title) in wanted.items():
        button = view.get_by_role("button", name=name, exact=True)
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        expect(view.locator(".title span")).to_contain_text(title)
        merged = merge_to_words(matrix, SOURCE if kind == "encoder" else TARGET, SOURCE)
        view.locator(".sentence").nth(1).locator(".word").nth(1).hover()
        read = view.locator(".sentence").nth(0).locator(".word")
        weights = [float(word.get_attribute("data-weight") or "nan") for word in read.all()]
        assert weights == pytest.approx(merged[1].tolist(), abs=0.004)
        page.mouse.move(0, 0)


def test_a_text_runs_as_its_language_does(stage: Stage) -> None:
    stage.answers["/attend"] = lambda _: attended("mine", (in_words("שלום עולם"), TARGET))
    page = stage.page
    page.goto("/#q=שלום+עולם")
    expect(page.locator("#step-name")).to_have_text("Step 1 of 5: ▁Jane")
    read = page.locator("#view .sentence").nth(0)
    expect(read.locator(".word").first).to_have_text("שלום")
    for part, way in (
        (page.locator("#source"), "rtl"),
        (read, "rtl"),
        (page.locator("#target"), "ltr"),
    ):
        expect(part).to_have_css("direction", way)
    first, second = read.locator(".word").all()
    places = [word.evaluate("word => word.getBoundingClientRect().x") for word in (first, second)]
    assert places[0] > places[1]
    first.focus()
    page.keyboard.press("ArrowLeft")
    expect(second).to_be_focused()


def test_the_address_of_a_run_opens_it_again(stage: Stage) -> None:
    page = stage.page
    page.goto("/page/runs.html")
    page.locator("#run").select_option("second")
    expect(page.locator("#validation option")).to_have_count(2)
    page.locator("#validation").select_option("10")
    expect(page.locator("#translations")).to_contain_text("at 10")
    address = page.url
    page.reload()
    expect(page.locator("#run")).to_have_value("second")
    expect(page.locator("#translations")).to_contain_text("at 10")
    expect(page.locator("#validation")).to_have_value("10")
    assert page.url == address and "run=second" in address


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_pages_are_light_or_dark_as_the_reader_has_it(stage: Stage, path: str, scheme: str) -> None:
    page = stage.page
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(f"{path}#q=Jane")
    expect(page.locator("h1")).to_be_visible()
    of_root = "getComputedStyle(document.documentElement)"
    brightness = """colour => {
        const [r, g, b] = colour.match(/[\\d.]+/g).map(Number);
        return (r + g + b) / 765; }"""
    paper = page.evaluate(f"({brightness})({of_root}.backgroundColor)")
    ink = page.evaluate(f"({brightness})({of_root}.color)")
    assert (paper > 0.9 and ink < 0.3) if scheme == "light" else (paper < 0.2 and ink > 0.8)
    boxes = page.locator("select, textarea, input[type=text]").evaluate_all(
        f"all => all.map(box => getComputedStyle(box).color).map({brightness})"
    )
    assert boxes and all(abs(box - ink) < 0.05 for box in boxes)


def test_the_keyboard_alone_reaches_every_idea(stage: Stage) -> None:
    page = stage.page
    page.goto("/page/ideas.html")
    expect(page.locator("#contexts polyline")).to_be_visible()
    expect(page.locator("#road circle.point").first).to_be_visible()
    expect(page.locator("#by-hand input[type=number]").first).to_be_visible()
    reached = tab_through(page, "road point")
    assert [each for each in reached if " " in each] == [
        *["weather map", "by-hand scaled", "by-hand INPUT", "masks look-ahead", "masks padding"],
        *["heads model", "heads kind", "heads sentence"],
        *["contexts first", "contexts second", "contexts word", "road task", "road point"],
    ]
    expect(page.locator("#road .reading").first).to_contain_text("looking: 40.0 BLEU")
    page.locator("#masks .look-ahead").focus()
    empty = page.locator("#masks td.empty")
    before = empty.count()
    page.keyboard.press("Space")
    expect(page.locator("#masks .look-ahead")).not_to_be_checked()
    expect(empty).not_to_have_count(before)


def test_the_keyboard_alone_reaches_every_run(stage: Stage) -> None:
    page = stage.page
    page.goto("/page/runs.html")
    expect(page.locator("#validation option")).to_have_count(2)
    assert tab_through(page, "validation")[-2:] == ["run", "validation"]
    page.keyboard.press("ArrowUp")
    expect(page.locator("#translations")).to_contain_text("at 10")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowDown")
    expect(page).to_have_url(re.compile("run=second"))


@pytest.mark.parametrize("width", [360, 1200])
def test_what_is_shown_only_at_times_fits_the_screen(stage: Stage, width: int) -> None:
    stage.page.set_viewport_size({"width": width, "height": 740})
    stage.refuse("/attend", 403, "this API key is not known")
    page = stage.page
    page.goto("/#q=Jane")
    expect(page.get_by_label("API key")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(words(page.locator("#view"))).to_have_count(0)
