"""The exported file in a real browser: from the disk, without a network."""

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from regard.lens.html import write_html
from regard.lens.picture import picture_of
from regard.lens.record import Kind
from regard.lens.wire import to_wire
from tests.page.known import SOURCE, TARGET, known_record

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"


@pytest.fixture
def exported(tmp_path: Path) -> str:
    """The address of a file with known attention."""
    path = tmp_path / "look.html"
    write_html(path, to_wire(known_record(), SOURCE, TARGET, model="known"), "a title")
    return path.as_uri()


def sentence(page: Page, which: int) -> Locator:
    """The words that are looked at (0), or those that look (1)."""
    return page.locator("attention-view .sentence").nth(which).locator(".word")


def shades(words: Locator) -> list[float]:
    """The weight that each word was shaded by."""
    return [float(word.get_attribute("data-weight") or "nan") for word in words.all()]


def darkness(words: Locator) -> list[float]:
    """How dark the background of each word is, as drawn."""
    colours: list[list[float]] = words.evaluate_all(
        "all => all.map(w => getComputedStyle(w).backgroundColor.match(/[\\d.]+/g).map(Number))"
    )
    return [-sum(colour[:3]) for colour in colours]


def known(kind: Kind, layer: int | None = None, head: int | None = None) -> list[list[float]]:
    """What Python says the weights between words are."""
    picture = picture_of(known_record(), SOURCE, TARGET, kind=kind, layer=layer, head=head)
    rows: list[list[float]] = picture.weights.tolist()
    return rows


def test_it_opens_from_the_disk_without_a_network(page: Page, exported: str) -> None:
    page.goto(exported)
    expect(page).to_have_title("a title")
    expect(sentence(page, 0)).to_have_text(["Jane", "visite", "l'", "Afrique", "."])
    expect(sentence(page, 1)).to_have_text(["Jane", "visits", "Africa", "."])
    assert page.locator("attention-view .thumb").count() == 3 * 3  # two layers, two heads, means


@pytest.mark.parametrize("row", range(4))
def test_hovering_a_word_shades_where_it_looked(page: Page, exported: str, row: int) -> None:
    page.goto(exported)
    page.emulate_media(reduced_motion="reduce")
    sentence(page, 1).nth(row).hover()
    weights = known("cross")[row]
    assert shades(sentence(page, 0)) == pytest.approx(weights, abs=0.004)
    drawn = darkness(sentence(page, 0))
    by_weight = sorted(range(len(weights)), key=weights.__getitem__)
    assert sorted(range(len(drawn)), key=drawn.__getitem__) == by_weight
    expect(sentence(page, 1).nth(row)).to_have_class("word chosen")


def test_hovering_a_source_word_shades_who_looked_at_it(page: Page, exported: str) -> None:
    page.goto(exported)
    sentence(page, 0).nth(3).hover()
    column = [row[3] for row in known("cross")]
    assert shades(sentence(page, 1)) == pytest.approx(column, abs=0.004)


def test_lines_are_drawn_for_one_word_only(page: Page, exported: str) -> None:
    page.goto(f"{exported}#layer=2&head=1")
    lines = page.locator("attention-view svg.lines path")
    expect(sentence(page, 0).first).to_be_visible()
    assert lines.count() == 0
    sentence(page, 1).nth(0).hover()
    expect(lines).to_have_count(1)  # this head looks at one word only
    page.mouse.move(0, 0)
    expect(lines).to_have_count(0)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_every_head_has_the_weights_of_its_record(page: Page, exported: str, kind: Kind) -> None:
    for layer, head in ((1, 2), (2, 1), (0, 2), (1, 0)):
        page.goto("about:blank")
        page.goto(f"{exported}#kind={kind}&layer={layer}&head={head}")
        sentence(page, 1).nth(1).hover()
        expected = known(kind, layer or None, head or None)[1]
        assert shades(sentence(page, 0)) == pytest.approx(expected, abs=0.004)


def test_pieces_and_special_tokens_can_be_shown(page: Page, exported: str) -> None:
    page.goto(exported)
    page.get_by_role("button", name="pieces").click()
    expect(sentence(page, 0)).to_have_text(list(SOURCE.pieces))
    page.get_by_label("hide specials").uncheck()
    expect(sentence(page, 0)).to_have_text([*SOURCE.pieces, "</s>"])
    sentence(page, 1).nth(4).hover()
    expected = known_record().mean("cross")[4].tolist()
    assert shades(sentence(page, 0)) == pytest.approx(expected, abs=0.004)
    page.get_by_role("tab", name="decoder").click()
    expect(sentence(page, 0)).to_have_text(["<s>", *TARGET.pieces])


def test_the_address_says_what_is_shown(page: Page, exported: str) -> None:
    page.goto(exported)
    page.get_by_role("tab", name="encoder").click()
    page.get_by_role("button", name="pieces").click()
    page.locator("attention-view .thumb").nth(1).dblclick()
    expect(page.locator("attention-view .maps")).to_have_class("maps alone")
    caption = "Encoder self-attention, layer 1, head 2"
    expect(page.locator("attention-view .title span")).to_have_text(caption)
    address = page.url
    assert "kind=encoder" in address and "head=2" in address
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator("attention-view .title span")).to_have_text(caption)
    expect(sentence(page, 0)).to_have_text(list(SOURCE.pieces))
    expect(page.locator("attention-view .maps")).to_have_class("maps alone")
    assert page.url == address


def test_the_keyboard_alone_reaches_everything(page: Page, exported: str) -> None:
    page.goto(exported)
    expect(sentence(page, 0).first).to_be_visible()
    reached = []
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                """() => { const view = document.querySelector("attention-view");
                const at = view.shadowRoot.activeElement ?? document.activeElement;
                const part = ".sentence, .tabs, .choice, .tick, .grid, .map";
                return at.closest(part)?.className || at.tagName; }"""
            )
        )
        if reached[-1] == "map":
            break
    assert reached == [
        *["BUTTON", "sentence", "sentence", "tabs", "choice", "choice", "tick"],
        *["choice", "choice", "grid", "map"],
    ]


def test_arrow_keys_move_over_words_heads_and_cells(page: Page, exported: str) -> None:
    page.goto(exported)
    sentence(page, 1).nth(0).focus()
    page.keyboard.press("ArrowRight")
    assert shades(sentence(page, 0)) == pytest.approx(known("cross")[1], abs=0.004)
    page.get_by_role("tab", name="cross").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name="decoder")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowRight")
    page.locator("attention-view .thumb[aria-pressed=true]").focus()
    page.keyboard.press("ArrowUp")  # from the mean of everything to that of layer 2
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    caption = page.locator("attention-view .title span")
    expect(caption).to_have_text("Cross-attention, layer 2, head 1")
    page.keyboard.press("Enter")
    expect(page.locator("attention-view .heads")).to_be_hidden()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    expect(page.locator("attention-view .reading")).to_have_text("Jane → visite 1.000")
    page.keyboard.press("Escape")
    expect(page.locator("attention-view .heads")).to_be_visible()


def test_pointing_at_the_map_lights_row_and_column(page: Page, exported: str) -> None:
    page.goto(f"{exported}#layer=2&head=1")
    canvas = page.locator("attention-view .map canvas")
    box = canvas.bounding_box()
    assert box
    # The last cell: the full stop looks at "Afrique" and not at itself.
    canvas.hover(position={"x": box["width"] - 30, "y": box["height"] - 12})
    expect(page.locator("attention-view .reading")).to_have_text(". → . 0.000")
    assert shades(sentence(page, 0)) == pytest.approx([0, 0, 0, 1, 0], abs=0.004)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stay_readable_in_light_and_dark(page: Page, exported: str, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(exported)
    sentence(page, 1).nth(1).hover()
    contrasts: list[float] = sentence(page, 0).evaluate_all(
        """all => all.map(word => {
            const [ink, paper] = ["color", "backgroundColor"].map(name => {
                const rgb = getComputedStyle(word)[name].match(/[\\d.]+/g).map(v => v / 255);
                const part = rgb.map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2]; });
            return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05); })"""
    )
    assert min(contrasts) > 3


def test_hostile_words_pieces_and_names_stay_text(page: Page, tmp_path: Path) -> None:
    source = replace(SOURCE, text=HOSTILE, pieces=(HOSTILE, *SOURCE.pieces[1:]))
    path = tmp_path / "hostile.html"
    wire = to_wire(known_record(source), source, TARGET, model=HOSTILE)
    write_html(path, wire, HOSTILE)
    page.goto(f"{path.as_uri()}#words=0")
    expect(sentence(page, 0).first).to_have_text(HOSTILE)
    expect(page.locator(".model")).to_have_text(HOSTILE)
    expect(page).to_have_title(HOSTILE)
    sentence(page, 0).first.hover()
    expect(page.locator("attention-view .reading b").first).to_have_text(HOSTILE)
    page.get_by_role("button", name="words").click()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0


def test_a_picture_can_be_saved(page: Page, exported: str) -> None:
    page.goto(exported)
    expect(sentence(page, 0).first).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="PNG").click()
    content = Path(saved.value.path()).read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) > 5_000


def test_a_notebook_shows_it_in_a_frame(page: Page, tmp_path: Path) -> None:
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html>{known_record()._repr_html_()}", "utf-8")
    page.goto(notebook.as_uri())
    words = page.frame_locator("iframe").locator("attention-view .sentence").nth(0).locator(".word")
    expect(words).to_have_text(list(SOURCE.pieces))


@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_is_wider_than_the_screen(page: Page, exported: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(exported)
    expect(sentence(page, 0).first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
