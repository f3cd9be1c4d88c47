"""What the server says of itself: models, health, metrics, logs, headers."""

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest

from regard import __version__
from regard.api import Translator
from regard.serve.keys import Keys
from regard.serve.limits import Limits
from regard.serve.logs import LOGGER, JsonLines
from regard.serve.metrics import Metrics
from regard.serve.shelf import Served, Shelf
from regard.serve.worker import Worker
from tests.serve.running import Running, running, until

SENTENCE = "Jane visite l'Afrique en septembre."
KEY = "0123456789abcdef"


@pytest.fixture
def own_server(translator: Translator) -> Iterator[Running]:
    """A server that nobody else asks: a line is logged after its answer, a moment late."""
    with running({"mine": translator}) as found:
        yield found


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What our logger writes meanwhile."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    before, level = LOGGER.handlers, LOGGER.level
    LOGGER.handlers, LOGGER.propagate = [handler], False
    LOGGER.setLevel(logging.INFO)
    yield stream
    LOGGER.handlers, LOGGER.propagate = before, True
    LOGGER.setLevel(level)


def lines(log: io.StringIO, number: int) -> list[dict[str, object]]:
    until(lambda: log.getvalue().count("\n") >= number)
    return [json.loads(line) for line in log.getvalue().splitlines()]


def test_models_are_listed_by_name(server: Running, translator: Translator) -> None:
    (model,) = server.get("/models").json
    assert model == {
        "name": "mine",
        "source": "fr",
        "target": "en",
        "parameters": translator.models[0].num_parameters(),
        "beam": 4,
        "max_pieces": translator.max_pieces,
    }


def test_health_is_well_until_a_worker_dies(translator: Translator) -> None:
    with running({"mine": translator}) as server:
        expected = {"status": "ok", "version": __version__, "models": 1, "waiting": 0}
        assert server.get("/health").json == expected
        server.worker.close()
        reply = server.get("/health")
        assert (reply.status, reply.json["status"]) == (503, "failing")


def test_metrics_count_what_was_asked(translator: Translator) -> None:
    with running({"mine": translator}) as server:
        server.post("/translate", q=[SENTENCE] * 3)
        server.post("/translate", q=5)
        server.get("/page/nothing")
        server.get("/nowhere/at/all")
        reply = server.get("/metrics")
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    text = reply.content.decode()
    for line in (
        'regard_requests_total{route="/translate",status="200"} 1',
        'regard_requests_total{route="/translate",status="400"} 1',
        'regard_requests_total{route="unmatched",status="404"} 1',
        'regard_request_seconds_bucket{route="/translate",le="+Inf"} 2',
        'regard_request_seconds_count{route="/translate"} 2',
        "regard_requests_running 1",
        'regard_sentences_total{model="mine"} 3',
        'regard_batches_total{model="mine"} 1',
        'regard_queue_jobs{model="mine"} 0',
    ):
        assert f"\n{line}\n" in text
    assert "nowhere" not in text


def test_a_counter_has_all_its_digits(translator: Translator) -> None:
    worker = Worker(translator, Limits())
    worker.tally.target_pieces = 12_345_678
    metrics = Metrics()
    metrics.count("/translate", 200, 1_234_567.25)
    text = metrics.render(Shelf([Served("mine", worker)]))
    assert '\nregard_target_pieces_total{model="mine"} 12345678\n' in text
    assert '\nregard_request_seconds_sum{route="/translate"} 1234567.25\n' in text


def test_every_line_of_the_metrics_is_in_prometheus_format(server: Running) -> None:
    sample = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+')
    for line in server.get("/metrics").content.decode().splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) [a-z_]+ .+", line) or sample.fullmatch(line), line


def test_a_request_is_one_line_without_a_word_of_its_text(
    own_server: Running, log: io.StringIO
) -> None:
    own_server.post("/translate", q=SENTENCE, source="fr")
    own_server.call(
        "POST", f"/translate?q={KEY}", b'{"q": 1}', {"Content-Type": "application/json"}
    )
    own_server.call(f"JANE-{KEY}", "/nowhere", None, {})
    first, second, third = lines(log, 3)
    assert first.pop("time") and first.pop("seconds")
    assert first == {
        "level": "info",
        "event": "request",
        "method": "POST",
        "route": "/translate",
        "status": 200,
        "texts": 1,
        "characters": len(SENTENCE),
        "model": "mine",
    }
    assert (second["status"], third["status"]) == (400, 404)
    assert "Jane" not in log.getvalue() and KEY not in log.getvalue()


def test_the_line_of_every_text_names_its_model(own_server: Running, log: io.StringIO) -> None:
    own_server.post("/attend", q=SENTENCE)
    own_server.post("/ideas/heads", q=SENTENCE)
    own_server.post("/ideas/contexts", first=SENTENCE, second=SENTENCE, word="visite")
    assert [line.get("model") for line in lines(log, 3)] == ["mine"] * 3


def test_a_failure_of_ours_is_logged_by_its_place_and_not_its_words(
    own_server: Running, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(text: str, languages: list[str]) -> None:
        raise RuntimeError(text)

    monkeypatch.setattr("regard.serve.listing.detect", fail)
    reply = own_server.post("/detect", q=SENTENCE)
    assert reply.status == 500
    assert reply.json == {"error": "this should not happen; the server's log says where"}
    failed, request = lines(log, 2)
    assert failed["exception"] == "RuntimeError"
    assert "test_status.py" in str(failed["at"])
    assert (request["level"], request["status"]) == ("error", 500)
    assert "Jane" not in log.getvalue()


def test_keys_are_asked_for_and_never_logged(translator: Translator, log: io.StringIO) -> None:
    json_type = {"Content-Type": "application/json"}
    with running({"mine": translator}, keys=Keys([KEY])) as server:
        for path in ("/translate", "/translate/stream", "/attend", "/detect"):
            assert server.post(path, q=SENTENCE).status == 403
            assert server.post(path, q=SENTENCE, api_key=f"{KEY}X").status == 403
            assert server.post(path, q=SENTENCE, api_key=KEY).status == 200
            bearer = json_type | {"Authorization": f"Bearer {KEY}"}
            body = json.dumps({"q": SENTENCE}).encode()
            assert server.call("POST", path, body, bearer).status == 200
        assert server.get("/metrics").status == 403
        assert server.get("/metrics", Authorization=f"Bearer {KEY}").status == 200
        assert server.get("/health").status == server.get("/languages").status == 200
        assert server.get("/frontend/settings").json["keyRequired"] is True
    assert KEY not in log.getvalue()


def test_every_answer_has_safe_headers(server: Running) -> None:
    for reply in (
        server.get("/health"),
        server.get("/nowhere"),
        server.post("/translate", q=5),
        server.post("/translate/stream", q="a"),
    ):
        assert reply.headers["content-security-policy"].startswith(
            "default-src 'self'; script-src 'self'"
        )
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["cache-control"] == "no-store"
        assert "server" not in reply.headers
        assert "access-control-allow-origin" not in reply.headers


def test_errors_of_the_router_look_like_all_others(server: Running) -> None:
    missing, wrong = server.get("/nowhere"), server.get("/translate")
    assert (missing.status, missing.json) == (404, {"error": "Not Found"})
    assert (wrong.status, wrong.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("origins", [("https://example.org",), ("*",)])
def test_pages_of_other_origins_may_ask_only_if_named(
    translator: Translator, origins: tuple[str, ...]
) -> None:
    preflight = {"Access-Control-Request-Method": "POST"}
    with running({"mine": translator}, origins=origins) as server:
        for origin in ("https://example.org", "https://example.com"):
            reply = server.call("OPTIONS", "/translate", None, preflight | {"Origin": origin})
            plain = server.get("/health", Origin=origin, Cookie="a=b")
            allowed = plain.headers.get("access-control-allow-origin")
            assert allowed == (origins[0] if origin == origins[0] or origins == ("*",) else None)
            for each in (reply, plain):
                assert "access-control-allow-credentials" not in each.headers
