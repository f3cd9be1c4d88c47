"""The pages in a real browser against the real server: the stand-in's answers are its own."""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Page, expect

from regard.api import Translator
from regard.build import build_model
from regard.models.interface import ModelConfig
from regard.serve.keys import Keys
from tests.models.architectures import BAHDANAU, RNN
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
    backwards = copy.copy(translator)
    backwards.source_language, backwards.target_language = "en", "fr"
    models = {
        "mine": translator,
        "bahdanau": untrained(BAHDANAU, translator),
        "seq2seq": untrained(RNN, translator),
        "backwards": backwards,
    }
    with running(models, runs={"logged": logged}, race=race) as found:
        yield found


def untrained(config: ModelConfig, like: Translator) -> Translator:
    """Another architecture that reads and writes the same pieces."""
    torch.manual_seed(0)
    return Translator(
        [build_model(config, like.tokenisers)],
        like.tokenisers,
        like.decoding,
        like.source_language,
        target_language=like.target_language,
        max_pieces=like.max_pieces,
    )


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
def test_what_was_looked_at_can_be_saved(
    page: Page, translator: Translator, name: str, tmp_path: Path
) -> None:
    page.goto("/")
    page.locator("#source").fill(SENTENCE)
    expect(page.locator("#step-name")).to_have_text(re.compile("Step 1"))
    with page.expect_download() as saved:
        page.get_by_role("button", name=name, exact=True).click()
    path = tmp_path / f"saved.{name.lower()}"
    saved.value.save_as(path)
    (found,) = translator.translate(SENTENCE, attention=True).sentences
    assert found.alignment and found.attention
    if name == "JSON":
        (sentence,) = json.loads(path.read_bytes())["sentences"]
        assert sentence["floats"]["source"] == list(found.attention.source)
        return
    page.goto(path.as_uri())
    read, wrote = page.locator("attention-view .sentence").all()
    expect(read.locator(".word")).to_have_text(list(found.alignment.source))
    expect(wrote.locator(".word")).to_have_text(list(found.alignment.target))


def test_the_file_shows_the_sentence_that_was_looked_at(page: Page, tmp_path: Path) -> None:
    page.goto("/#q=Jane+aime+la+gare.+Elle+voit+un+livre.")
    page.get_by_role("button", name="sentence 2").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="HTML", exact=True).click()
    saved.value.save_as(tmp_path / "saved.html")
    page.goto((tmp_path / "saved.html").as_uri())
    read = page.locator("attention-view .sentence").first.locator(".word")
    expect(read).to_have_text(["Elle", "voit", "un", "livre", "."])


def test_two_architectures_look_at_the_same_sentence_side_by_side(page: Page) -> None:
    page.goto("/#q=Jane+voit+un+livre.&model=mine&other=bahdanau")
    expect(page.locator("#beside-name")).to_have_text("bahdanau")
    ours, theirs = page.locator("#view"), page.locator("#other-view")
    expect(ours.get_by_role("tab")).to_have_text(["encoder", "decoder", "cross"])
    expect(theirs.get_by_role("tab")).to_have_text(["cross"])
    expect(ours.locator(".thumb")).to_have_count(3)  # two heads, and their mean
    expect(theirs.locator(".thumb")).to_have_count(1)
    for view in (ours, theirs):
        read = view.locator(".sentence").first.locator(".word")
        expect(read).to_have_text(["Jane", "voit", "un", "livre", "."])
    ours.get_by_role("tab", name="encoder").click()
    expect(theirs.get_by_role("tab", name="cross")).to_have_attribute("aria-selected", "true")


def test_a_model_that_looks_at_nothing_is_translated_with_and_stepped_through(page: Page) -> None:
    page.goto("/#q=Jane+voit+un+livre.")
    expect(page.locator("#view .thumb").first).to_be_visible()
    page.locator("#model").select_option("seq2seq")
    expect(page.locator("#view").get_by_text("this model has no attention")).to_be_visible()
    expect(page.locator("#step-name")).to_have_text(re.compile("Step 1"))
    with page.expect_download() as saved:
        page.get_by_role("button", name="HTML", exact=True).click()
    assert b"seq2seq" in Path(saved.value.path()).read_bytes()


def test_a_translation_goes_back_the_way_it_came(page: Page, translator: Translator) -> None:
    page.goto("/#q=Jane+voit+un+livre.&model=mine")
    expect(page.locator("#step-name")).to_have_text(re.compile("Step 1"))
    there = translator.translate("Jane voit un livre.").text
    back = translator.translate(there).text
    expect(page.locator("#target")).to_have_value(there)
    page.get_by_role("button", name="swap the languages").click()
    expect(page.locator("#model")).to_have_value("backwards")
    expect(page.locator("#source")).to_have_value(there)
    expect(page.locator("#target")).to_have_value(back)


def test_a_page_with_a_key_is_let_in(browser: Browser, translator: Translator) -> None:
    key = "a key of more than sixteen letters"
    with running({"mine": translator}, keys=Keys([key])) as server:
        page = browser.new_page(base_url=server.address)
        page.goto("/#q=Jane+voit+un+livre.")
        expect(page.locator("#status")).to_contain_text("an API key is needed")
        for guess, said in (("another", "this API key is not known"), (key, "")):
            page.get_by_label("API key").fill(guess)
            page.get_by_role("button", name="Use it").click()
            expect(page.locator("#status")).to_have_text(said)
        expect(page.locator("#step-name")).to_have_text(re.compile("Step 1"))
        page.close()


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
