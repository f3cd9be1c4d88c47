"""Every picture of the page and of the lens in README and docs, taken of the real program.

    python -m tests.page.pictures --model demo/run --road demo/road

serves the model on a free port, looks at its pages in the system's chromium, and lets the lens
draw. `make pictures` trains the demo's model first where there is none. Two machines give pictures
of the same things, though not of the same bytes: their fonts differ.
"""

import argparse
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote_plus

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from regard.api import Translator, load
from regard.cli.demo import SENTENCE
from regard.lens.picture import picture_of
from regard.lens.plot import all_heads, heat_map
from tests.contracts.file_tree import ROOT
from tests.page.browser import FLAGS, find_chromium
from tests.serve.running import Running, running

FOLDER = ROOT / "docs" / "pictures"
NAME = "phrasebook"
# Of the race, served as well: an RNN with additive attention, to be compared with.
OTHER = "bahdanau"
DESKTOP, PHONE = 1180, 390
# Around a part of a page, in its pixels.
MARGIN = 28
# A busy machine takes its time; in milliseconds.
PATIENCE = 180_000
# Flat colours and letters: as many colours as a byte can name, and nobody sees a difference.
COLOURS = 256


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture of a page.

    Attributes:
        name: of the file.
        path: of the page.
        show: brings the page to what is to be seen, and says which part of it.
        width: of the window.
        height: of the window, which is what is taken where `show` names no part.
        scheme: light or dark.
    """

    name: str
    path: str
    show: Callable[[Page], Locator | None]
    width: int = DESKTOP
    height: int = 1010
    scheme: Literal["light", "dark"] = "light"


def looked_at(page: Page) -> None:
    """A sentence translated, decoded, and one of its words pointed at."""
    expect(page.locator("#step-name")).to_contain_text("Step 1")
    page.locator("#view .sentence").nth(1).locator(".word").nth(2).hover()


def stepped(page: Page) -> Locator:
    expect(page.locator("#step-name")).to_contain_text("Step 1")
    for _ in range(2):
        page.locator("#forward").click()
    return page.locator("section", has=page.locator("#tree"))


def compared(page: Page) -> Locator:
    expect(page.locator("#step-name")).to_contain_text("Step 1")
    page.locator("#other-view .sentence").nth(1).locator(".word").nth(2).hover()
    return page.locator("#beside")


def panel(name: str, part: str) -> Callable[[Page], Locator]:
    def show(page: Page) -> Locator:
        expect(page.locator(f"#{name} {part}").first).to_be_visible()
        page.wait_for_load_state("networkidle")
        return page.locator(f"#{name}")

    return show


def raced(page: Page) -> Locator:
    road = page.locator("#road")
    road.locator("circle.point[aria-label=transformer]").click()
    expect(road.locator("attention-view .thumb").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    return road


def ran(page: Page) -> None:
    expect(page.locator("#bleu polyline")).to_be_visible()


def shots(sentence: str, has_race: bool, has_other: bool) -> list[Shot]:
    """What there is to be taken."""
    asked = f"/#q={quote_plus(sentence)}&beam=4"
    ideas, runs = "/page/ideas.html", "/page/runs.html"
    found = [
        Shot("translate", asked, looked_at),
        Shot("translate-dark", asked, looked_at, scheme="dark"),
        Shot("translate-phone", asked, looked_at, PHONE, 844),
        Shot("steps", asked, stepped),
        Shot("ideas-weather", ideas, panel("weather", "td")),
        Shot("ideas-by-hand", ideas, panel("by-hand", "td")),
        Shot("ideas-positions", ideas, panel("positions", "polyline")),
        Shot("ideas-heads", ideas, panel("heads", "td")),
        Shot("ideas-phone-dark", ideas, lambda page: None, PHONE, 844, "dark"),
        Shot("runs", runs, ran, height=1110),
    ]
    if has_other:
        found.append(Shot("compare", f"{asked}&other={OTHER}", compared))
    found.append(Shot("road", ideas, raced if has_race else panel("road", "circle")))
    return found


def take(browser: Browser, server: Running, shot: Shot, folder: Path) -> Path:
    """Open a page as a reader would, and keep what is seen."""
    context = browser.new_context(
        base_url=server.address,
        viewport={"width": shot.width, "height": shot.height},
        device_scale_factor=2 if shot.width == PHONE else 1.5,
        color_scheme=shot.scheme,
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(shot.path)
    page.wait_for_load_state("networkidle")
    part = shot.show(page)
    content = page.screenshot() if part is None else _with_margin(page, part)
    context.close()
    path = folder / f"{shot.name}.png"
    _keep(content, path)
    return path


def _with_margin(page: Page, part: Locator) -> bytes:
    """A section without the lines above and below, and with the page's margin at its sides."""
    box = part.bounding_box()
    assert box is not None
    return page.screenshot(
        full_page=True,
        clip={
            "x": box["x"] - MARGIN,
            "y": box["y"] + page.evaluate("scrollY") + 2,
            "width": box["width"] + 2 * MARGIN,
            "height": box["height"] - 4,
        },
    )


def draw(translator: Translator, sentence: str, folder: Path) -> list[Path]:
    """What `regard look --out` draws of the sentence."""
    (found,) = translator.translate(sentence, attention=True, split_sentences=False).sentences
    assert found.attention is not None
    mean = picture_of(found.attention, found.source, found.best.target)
    paths = [folder / "attention.png", folder / "attention.svg", folder / "heads.png"]
    for path in paths[:2]:
        heat_map(mean.weights, mean.rows, mean.columns, path)
    all_heads(found.attention, "cross", paths[2])
    for path in paths:
        if path.suffix == ".png":
            _keep(path.read_bytes(), path)
    return paths


def _keep(content: bytes, path: Path) -> None:
    """Write a PNG with a palette: a fifth of the bytes."""
    image = Image.open(io.BytesIO(content)).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path, required=True, help="a run folder")
    parser.add_argument("--road", type=Path, help="a folder of `regard road`")
    parser.add_argument("--sentence", default=SENTENCE, help="in the model's language")
    parser.add_argument("--out", type=Path, default=FOLDER)
    options = parser.parse_args()
    chromium = find_chromium()
    if chromium is None:
        print("pictures: no chromium on this machine; `make browser` installs it where it can")
        return 1
    expect.set_options(timeout=PATIENCE)
    options.out.mkdir(parents=True, exist_ok=True)
    models = {NAME: load(options.model)}
    rival = options.road / OTHER / "run" if options.road else None
    if rival is not None and rival.is_dir():
        models[OTHER] = load(rival)
    paths = draw(models[NAME], options.sentence, options.out)
    with (
        running(models, runs={NAME: options.model}, race=options.road) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for shot in shots(options.sentence, options.road is not None, OTHER in models):
            paths.append(take(browser, server, shot, options.out))
        browser.close()
    for path in paths:
        print(f"{path.stat().st_size:>9,} bytes  {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
