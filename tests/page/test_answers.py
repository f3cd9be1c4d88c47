"""What the pages make of an answer that is refused, late, hostile, or has nothing to look at."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.page.known import SOURCE, TARGET
from tests.page.stage import (
    HISTORY,
    Stage,
    attended,
    events,
    in_words,
    model,
    steps,
    translated,
    without_attention,
    words,
)

HOSTILE = "<img src=x onerror='window.hacked = 1'>"
NO_ATTENTION = "this model has no attention"
NO_KEY = "an API key is needed: api_key, or the header Authorization: Bearer"
PANELS = ["weather", "by-hand", "positions", "masks", "heads", "contexts", "road"]


def looked_or_not(body: dict[str, Any]) -> dict[str, Any]:
    """What models answer of which one looks at nothing."""
    if body["model"] == "blind":
        return attended("blind", record=without_attention)
    return attended(body["model"])


# Nothing to look at.


def test_a_model_without_attention_leaves_nothing_of_anothers_picture(stage: Stage) -> None:
    stage.answers["/models"] = lambda _: [model("mine"), model("blind")]
    stage.answers["/attend"] = looked_or_not
    page = translated(stage)
    view = page.locator("#view")
    expect(view.get_by_text(NO_ATTENTION)).to_be_hidden()
    page.locator("#model").select_option("blind")
    expect(view.get_by_text(NO_ATTENTION)).to_be_visible()
    expect(page.locator("#step-name")).to_have_text("Step 1 of 5: ▁Jane")
    expect(page.locator("#status")).to_have_text("")
    for part in (".word", ".thumb", ".tabs button", "canvas"):
        expect(view.locator(part).filter(visible=True)).to_have_count(0)
    expect(words(view)).to_have_count(0)
    page.locator("#png").click()
    expect(page.locator("#kept")).to_have_text(NO_ATTENTION)
    page.locator("#model").select_option("mine")
    expect(words(view).first).to_have_text("Jane")
    expect(view.locator(".tabs button")).to_have_text(["encoder", "decoder", "cross"])
    expect(view.get_by_text(NO_ATTENTION)).to_be_hidden()


def test_a_system_without_attention_shows_none_on_the_road(stage: Stage) -> None:
    stage.answers["/attend"] = looked_or_not
    page = stage.page
    page.goto("/page/ideas.html")
    looking, blind = page.locator("#road circle.point").all()
    view = page.locator("#road attention-view")
    looking.click()
    expect(view).to_be_visible()
    blind.click()
    expect(view).to_be_hidden()
    expect(page.locator("#road .status")).to_have_text("")


def test_heads_that_are_not_there_are_said_not_to_be(stage: Stage) -> None:
    stage.answers["/ideas/heads"] = lambda _: {}
    stage.page.goto("/page/ideas.html")
    expect(stage.page.locator("#heads .drawing")).to_have_text(NO_ATTENTION)


# Refused.


@pytest.mark.parametrize("path", ["/", "/page/ideas.html", "/page/runs.html"])
def test_a_page_that_is_refused_asks_for_a_key_and_sends_it(stage: Stage, path: str) -> None:
    asked = {"/": "/attend", "/page/ideas.html": "/ideas/heads", "/page/runs.html": "/runs"}[path]
    granted = stage.answers[asked]
    stage.refuse(asked, 403, NO_KEY)
    page = stage.page
    page.goto(f"{path}#q=Jane")
    expect(page.get_by_text(NO_KEY)).to_be_visible()
    assert stage.requests[-1].headers.get("authorization") is None
    stage.answers[asked] = granted
    page.get_by_label("API key").fill("sixteen or more letters")
    page.get_by_label("API key").press("Enter")
    drawn = {"/": "#view .thumb", "/page/ideas.html": "#heads td", "/page/runs.html": "#loss svg"}
    expect(page.locator(drawn[path]).first).to_be_visible()
    expect(page.get_by_label("API key")).to_have_count(0)
    sent = [each.headers.get("authorization") for each in stage.requests if asked in each.url]
    assert sent[0] is None and set(sent[-1:]) == {"Bearer sixteen or more letters"}
    assert "sixteen" not in page.url
    assert page.evaluate("localStorage.length") == 0


def test_a_key_is_asked_for_only_where_one_is_needed(stage: Stage) -> None:
    page = translated(stage)
    expect(page.get_by_label("API key")).to_have_count(0)
    stage.refuse("/attend", 413, "too long")
    page.locator("#source").fill("x")
    expect(page.locator("#status")).to_have_text("too long")
    expect(page.get_by_label("API key")).to_have_count(0)


@pytest.mark.parametrize("panel", PANELS)
def test_what_a_panel_is_refused_it_says(stage: Stage, panel: str) -> None:
    stage.refuse(f"/ideas/{panel}", 400, f"no {HOSTILE}")
    stage.page.goto("/page/ideas.html")
    expect(stage.page.locator(f"#{panel} .status")).to_have_text(f"no {HOSTILE}")
    expect(stage.page.locator("#masks .status")).to_have_text(
        f"no {HOSTILE}" if panel == "masks" else ""
    )


def test_what_is_refused_leaves_no_answer_to_another_question(stage: Stage) -> None:
    page = stage.page
    page.goto("/page/ideas.html")
    expect(page.locator("#heads td")).to_have_count(2)
    stage.refuse("/ideas/heads", 413, "too long")
    page.locator("#heads .sentence").fill("x")
    page.locator("#heads .sentence").press("Tab")
    expect(page.locator("#heads .status")).to_have_text("too long")
    expect(page.locator("#heads td")).to_have_count(0)


def test_the_models_are_missed_where_they_are_needed(stage: Stage) -> None:
    stage.refuse("/models", 503, "too many connections")
    stage.page.goto("/page/ideas.html")
    for panel in ("heads", "contexts"):
        expect(stage.page.locator(f"#{panel} .status")).to_have_text("too many connections")
    expect(stage.page.locator("#road circle.point").first).to_be_visible()


def test_a_refused_look_at_a_system_of_the_road_is_said(stage: Stage) -> None:
    stage.refuse("/attend", 429, "too many requests wait")
    page = stage.page
    page.goto("/page/ideas.html")
    page.locator("#road circle.point").first.click()
    expect(page.locator("#road .status")).to_have_text("too many requests wait")
    expect(page.locator("#road attention-view")).to_be_hidden()


def test_no_run_is_another_thing_than_a_refusal(stage: Stage) -> None:
    stage.answers["/runs"] = lambda _: []
    stage.page.goto("/page/runs.html")
    expect(stage.page.locator("#status")).to_contain_text("no run is served")
    stage.refuse("/runs", 403, NO_KEY)
    stage.page.reload()
    expect(stage.page.locator("#status")).to_have_text(NO_KEY)


def test_a_server_that_is_gone_is_said_to_be(stage: Stage) -> None:
    page = translated(stage)
    page.route("**/attend", lambda route: route.abort())
    page.locator("#source").fill("x")
    expect(page.locator("#status")).to_have_text("the server does not answer")


def test_an_error_of_the_stream_is_said_and_no_step_is_left(stage: Stage) -> None:
    page = translated(stage)
    page.locator("#tree g").first.focus()
    expect(page.locator("#tree-reading")).to_contain_text("probability")
    first, *_ = steps(TARGET.pieces)
    stage.answers["/translate/stream"] = lambda _: events(
        first, ("error", {"error": "there was no end in time"})
    )
    page.locator("#beam").select_option("1")
    expect(page.locator("#status")).to_have_text("there was no end in time")
    expect(page.locator("#status")).to_have_class("status wrong")
    for part in ("#step-name", "#bars", "#tree", "#tree-reading"):
        expect(page.locator(part)).to_be_empty()
    expect(page.locator("#forward")).to_be_disabled()
    expect(words(page.locator("#view")).first).to_have_text("Jane")


# Late.


def test_a_new_translation_empties_the_steps(stage: Stage) -> None:
    page = translated(stage)
    stage.holds.add("/attend")
    page.locator("#source").fill("Jane")
    stage.wait_for_held(1)
    expect(page.locator("#step-name")).to_be_empty()
    expect(page.locator("#bars")).to_be_empty()
    stage.let_go(0)
    expect(page.locator("#step-name")).to_have_text("Step 1 of 5: ▁Jane")


def test_a_late_answer_to_what_was_typed_before_is_dropped(stage: Stage) -> None:
    stage.answers["/attend"] = lambda body: attended("mine", (SOURCE, in_words(body["q"])))
    stage.holds.add("/attend")
    page = stage.page
    page.goto("/")
    expect(page.locator("#model option")).to_have_count(1)
    page.locator("#source").fill("one")
    stage.wait_for_held(1)
    with page.expect_event("requestfailed") as failed:
        page.locator("#source").fill("two")
    assert '"one"' in (failed.value.post_data or "")
    stage.wait_for_held(2)
    stage.let_go(1)
    expect(page.locator("#target")).to_have_value("two")
    stage.let_go(0)
    page.wait_for_timeout(200)
    assert page.locator("#target").input_value() == "two"


def test_a_late_log_of_another_run_is_not_drawn(stage: Stage) -> None:
    late = {**HISTORY, "steps": {"step": [99], "loss": [1.0], "tokens_per_second": [1.0]}}
    stage.answers["/runs/first"] = lambda _: late
    stage.holds.add("/runs/first")
    page = stage.page
    page.goto("/page/runs.html")
    stage.wait_for_held(1)
    page.locator("#run").select_option("second")
    expect(page.locator("#standing")).to_contain_text("step 20,")
    with page.expect_request_finished():
        stage.let_go(0)
    page.wait_for_timeout(200)
    # At once: the next refresh would hide the fault.
    assert "step 20," in (page.locator("#standing").text_content() or "")


def test_another_run_leaves_nothing_of_the_one_before(stage: Stage) -> None:
    page = stage.page
    page.goto("/page/runs.html")
    expect(page.locator("#loss polyline")).to_have_count(2)
    stage.holds.add("/runs/second")
    page.locator("#run").select_option("second")
    stage.wait_for_held(1)
    for part in ("#standing", "#loss", "#bleu", "#validation", "#translations"):
        expect(page.locator(part)).to_be_empty()


# Hostile.


def test_hostile_pieces_stay_text_where_they_are_drawn_step_by_step(stage: Stage) -> None:
    stage.answers["/translate/stream"] = lambda _: events(*steps((HOSTILE,), rival=HOSTILE + "2"))
    page = stage.page
    page.goto("/#q=Jane")
    expect(page.locator("#step-name")).to_have_text(f"Step 1 of 2: {HOSTILE}")
    expect(page.locator("#bars dt")).to_have_text([HOSTILE, HOSTILE + "2"])
    expect(page.locator("#tree text").first).to_have_text(f"{HOSTILE[:13]}…")
    page.locator("#tree g").first.focus()
    expect(page.locator("#tree-reading")).to_have_text(re.compile(f"^{re.escape(HOSTILE)} · "))
    expect(page.locator("#step")).to_have_attribute("aria-valuetext", f"step 1: {HOSTILE}")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0


def test_a_file_is_kept_of_the_sentence_that_is_shown(stage: Stage) -> None:
    second = in_words("Elle part .")
    stage.answers["/attend"] = lambda _: attended("mine", (SOURCE, TARGET), (second, TARGET))
    page = stage.page
    page.goto("/#q=Jane+visite+l'Afrique.+Elle+part+.&beam=1")
    page.get_by_role("button", name="sentence 2").click()
    expect(words(page.locator("#view")).first).to_have_text("Elle")
    # What is typed meanwhile is not what is shown.
    stage.holds.add("/attend")
    page.locator("#source").fill("x")
    stage.wait_for_held(1)
    stage.holds.clear()
    stage.answers["/attend"] = lambda _: "<!doctype html>"
    with page.expect_download() as saved:
        page.locator("#html").click()
    assert Path(saved.value.path()).read_text() == "<!doctype html>"
    assert stage.asked[-1] == ("/attend", {"q": second.text, "model": "mine", "beam": 1})
