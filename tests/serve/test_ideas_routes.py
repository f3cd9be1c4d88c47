"""`/ideas` and `/runs` answer what the package computes, and refuse what it cannot."""

import json
from pathlib import Path
from typing import Any

import pytest

from regard.api import Translator
from regard.lens import ideas
from regard.road.result import RESULTS
from regard.serve.keys import Keys
from regard.train.history import read_history
from tests.road.little_report import keep_little_report
from tests.serve.running import Running, running

SENTENCE = "Jane visite l'Afrique en septembre."
KEY = "0123456789abcdef"


@pytest.fixture
def logged_run(tmp_path: Path) -> Path:
    """The log of a training of two steps and a validation."""
    step = {"event": "step", "loss": 3.5, "learning_rate": 1e-3, "tokens": 400, "seconds": 0.5}
    shown = {"source": "Merci.", "reference": "Thank you.", "translation": "Thanks."}
    validation = {"event": "validation", "step": 2, "loss": 3.0, "bleu": 12.5, "is_best": True}
    events = [step | {"step": 1}, step | {"step": 2}, validation | {"translations": [shown]}]
    lines = "".join(f"{json.dumps(event)}\n" for event in events)
    (tmp_path / "log.jsonl").write_text(lines, "utf-8")
    return tmp_path


def test_the_panels_are_the_packages_own(server: Running) -> None:
    assert server.get("/ideas/positions").json == ideas.positions()
    assert server.get("/ideas/road").json == ideas.road()
    assert server.post("/ideas/weather", query=[0.1, 0.2]).json == ideas.weather([0.1, 0.2])
    by_hand = server.post("/ideas/by-hand", inputs=ideas.INPUTS, score="dot").json
    assert by_hand == ideas.by_hand(score="dot")
    assert server.post("/ideas/masks", padding=False).json == ideas.masks(padding=False)


def test_heads_are_those_of_the_model(server: Running, translator: Translator) -> None:
    (record,) = translator.translate(SENTENCE, attention=True).attention
    found = server.post("/ideas/heads", q=SENTENCE).json
    for kind, statistics in ideas.heads(record).items():
        for name, rows in statistics.items():
            for row, expected in zip(found[kind][name], rows, strict=True):
                assert row == pytest.approx(expected, abs=1e-4)


def test_a_word_in_the_same_context_twice_does_not_move(server: Running) -> None:
    body = {"first": SENTENCE, "second": SENTENCE, "word": "visite"}
    same = server.post("/ideas/contexts", **body).json
    assert same["cosines"] == pytest.approx([1.0] * len(same["cosines"]), abs=1e-5)
    other = server.post("/ideas/contexts", **body | {"second": "Mon ami visite la gare."}).json
    assert min(other["cosines"]) < 0.999


def test_a_word_is_looked_at_by_the_model_of_its_language(
    translator: Translator, backwards: Translator
) -> None:
    words = {"first": SENTENCE, "second": "Mon ami visite la gare.", "word": "visite"}
    with running({"back": backwards, "there": translator}) as server:
        unsaid = server.post("/ideas/contexts", **words)
        assert (unsaid.status, unsaid.json["word"]) == (200, "visite")
        assert unsaid.json == server.post("/ideas/contexts", **words, model="there").json
        assert server.post("/ideas/contexts", **words, model="none").status == 404


def test_a_sentence_that_the_encoder_has_no_place_for_is_refused(
    server: Running, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translator, "max_pieces", 3)
    reply = server.post("/ideas/contexts", first="elle voit", second=SENTENCE, word="elle")
    assert reply.status == 400
    assert "pieces, and the model takes 3 at most; shorten it" in reply.json["error"]


def test_only_the_first_sentence_is_decoded_where_no_other_is_shown(
    translator: Translator,
) -> None:
    text = f"{SENTENCE} Elle aime la gare. Mon ami cherche un livre."
    home = {"Content-Type": "application/json", "Accept": "text/html"}
    with running({"mine": translator}) as server:
        of_first = server.post("/ideas/heads", q=SENTENCE).json
        assert server.post("/ideas/heads", q=text).json == of_first
        assert server.worker.tally.sentences == 2
        file = server.call("POST", "/attend", json.dumps({"q": text}).encode(), home)
        assert file.status == 200 and server.worker.tally.sentences == 3
        assert len(server.post("/attend", q=text).json["sentences"]) == 3


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/ideas/weather", {"query": [1]}),
        ("/ideas/weather", {"query": [1e9, 0]}),
        ("/ideas/by-hand", {"inputs": [[1, 2, 3, 4]]}),
        ("/ideas/masks", {"padding": "yes"}),
        ("/ideas/heads", {"q": " "}),
        ("/ideas/contexts", {"first": "a", "second": "b", "word": "c"}),
    ],
)
def test_what_cannot_be_computed_is_refused(
    server: Running, path: str, fields: dict[str, Any]
) -> None:
    reply = server.post(path, **fields)
    assert (reply.status, list(reply.json)) == (400, ["error"])


def test_runs_are_listed_and_read_by_name(translator: Translator, logged_run: Path) -> None:
    runs = {"mine": logged_run, "none": logged_run / "absent"}
    with running({"mine": translator}, runs=runs) as server:
        assert server.get("/runs").json == [{"name": "mine"}, {"name": "none"}]
        found = server.get("/runs/mine").json
        assert found == read_history(logged_run) and found["steps"]["step"] == [1, 2]
        for name in ("none", "..", "%2e%2e", "other", "mine%00", "..%2fmine"):
            assert server.get(f"/runs/{name}").status == 404


def test_runs_need_a_key_where_there_are_keys(translator: Translator, logged_run: Path) -> None:
    with running({"mine": translator}, runs={"mine": logged_run}, keys=Keys([KEY])) as server:
        for path in ("/runs", "/runs/mine"):
            assert server.get(path).status == 403
            assert server.get(path, Authorization=f"Bearer {KEY}").status == 200


def test_the_road_shows_the_race_before_the_paper(translator: Translator, tmp_path: Path) -> None:
    keep_little_report(tmp_path)
    with running({"gru": translator}, race=tmp_path) as server:
        first, second, *paper = server.get("/ideas/road").json["systems"]
        assert paper == ideas.road()["systems"]
        assert (first["name"], first["flops"], first["model"]) == ("dictionary", None, None)
        assert first["attention"]["kinds"]["cross"]["shape"] == [1, 1, 2, 3]
        assert (second["flops"], second["attention"], second["model"]) == (1e12, None, "gru")
        assert {first["task"], second["task"]} == {"corpus, fr → en"}
        # A race that goes on is seen; one whose file is damaged is not made up.
        keep_little_report(tmp_path, num_results=1)
        assert len(server.get("/ideas/road").json["systems"]) == len(paper) + 1
        (tmp_path / RESULTS).write_text("{", "utf-8")
        assert server.get("/ideas/road").status == 503


def test_the_race_needs_a_key_where_there_are_keys(translator: Translator, tmp_path: Path) -> None:
    keep_little_report(tmp_path)
    with running({"mine": translator}, race=tmp_path, keys=Keys([KEY])) as server:
        assert server.get("/ideas/road").status == 403
        assert server.get("/ideas/road", Authorization=f"Bearer {KEY}").status == 200


def test_attention_can_be_taken_home_as_one_file(server: Running) -> None:
    body = b'{"q": "Jane visite l\'Afrique en septembre."}'
    headers = {"Content-Type": "application/json", "Accept": "text/html"}
    reply = server.call("POST", "/attend", body, headers)
    assert (reply.status, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b"<!doctype html>" in reply.content.lower()[:100]
    empty = server.call("POST", "/attend", b'{"q": ""}', headers)
    assert empty.status == 400
