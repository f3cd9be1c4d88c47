"""The page without a server: its files, and answers that a test sets and may hold back."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Locator, Page, Request, Route, expect

from regard.lens import ideas
from regard.lens.record import AttentionRecord
from regard.lens.wire import to_wire
from regard.text.encoded import Encoded
from tests.page.double import PAGE, TYPES, policy
from tests.page.known import SOURCE, TARGET, known_record

# A browser trusts this name as it does https, and no other over plain HTTP.
TRUSTED, PLAIN = "http://localhost", "http://regard.test"
PATIENCE = 60_000  # milliseconds; a busy machine is no reason to fail
HISTORY = {
    "steps": {"step": [10, 20], "loss": [4.0, 3.0], "tokens_per_second": [900.0, 1000.0]},
    "validations": [
        {
            "step": step,
            "loss": 3.5,
            "bleu": 1.0 * step,
            "is_best": True,
            "translations": [{"source": "a", "reference": "b", "translation": f"at {step}"}],
        }
        for step in (10, 20)
    ],
}

Answer = Callable[[Any], Any]
"""From the body of a request to what is answered."""


class Refusal(Exception):  # noqa: N818 it is an answer, not a fault
    """An answer that is none: a status and one line."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status


class Stage:
    """Answers the requests of one page.

    Attributes:
        answers: what is said to each path; a `str` is sent as it is, all else as JSON.
        asked: the path and the body of what was asked so far.
        requests: the same, with their headers.
        holds: paths whose requests wait for `let_go`.
        held: what waits.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.answers: dict[str, Answer] = {
            "/models": lambda _: [model("mine")],
            "/attend": lambda body: attended(body["model"]),
            "/translate/stream": lambda _: events(*steps(TARGET.pieces)),
            "/runs": lambda _: [{"name": "first"}, {"name": "second"}],
            "/runs/first": lambda _: HISTORY,
            "/runs/second": lambda _: HISTORY,
            "/ideas/weather": lambda body: ideas.weather(body["query"]),
            "/ideas/by-hand": lambda body: ideas.by_hand(body["inputs"], body["score"]),
            "/ideas/positions": lambda _: ideas.positions(),
            "/ideas/masks": lambda body: ideas.masks(**body),
            "/ideas/heads": lambda _: {"cross": {"entropy": [[1.0, 2.0]]}},
            "/ideas/contexts": lambda body: {"word": body["word"], "cosines": [1.0, 0.5]},
            "/ideas/road": lambda _: ideas.road([raced("looking", 40.0), raced("blind", 20.0)]),
        }
        self.asked: list[tuple[str, Any]] = []
        self.requests: list[Request] = []
        self.holds: set[str] = set()
        self.held: list[tuple[Route, str, Any]] = []
        page.route(re.compile(f"^({TRUSTED}|{PLAIN})/"), self._answer)

    def refuse(self, path: str, status: int, line: str) -> None:
        def say_no(_: Any) -> Any:
            raise Refusal(status, line)

        self.answers[path] = say_no

    def wait_for_held(self, number: int) -> None:
        """Until so many requests wait."""
        for _ in range(PATIENCE // 20):
            if len(self.held) == number:
                return
            self.page.wait_for_timeout(20)  # which lets requests be answered meanwhile
        raise AssertionError(f"{len(self.held)} requests wait, not {number}")

    def let_go(self, place: int) -> None:
        """Answer a request that waits."""
        self._fulfil(*self.held[place])

    def bodies(self, path: str) -> list[Any]:
        return [body for asked, body in self.asked if asked == path]

    def _answer(self, route: Route) -> None:
        path = urlsplit(route.request.url).path
        name = "index.html" if path == "/" else path.removeprefix("/page/")
        file = PAGE / name
        if file.is_file():
            headers = {"Content-Security-Policy": policy()}
            kind = f"{TYPES[file.suffix]}; charset=utf-8"
            route.fulfill(body=file.read_bytes(), content_type=kind, headers=headers)
            return
        body = json.loads(route.request.post_data or "null")
        self.asked.append((path, body))
        self.requests.append(route.request)
        if path in self.holds:
            self.held.append((route, path, body))
        else:
            self._fulfil(route, path, body)

    def _fulfil(self, route: Route, path: str, body: Any) -> None:
        try:
            if path not in self.answers:
                raise Refusal(404, "there is no such address")
            said = self.answers[path](body)
        except Refusal as no:
            route.fulfill(status=no.status, json={"error": str(no)})
            return
        if isinstance(said, str):
            kind = "text/html" if said.startswith("<!doctype") else "text/event-stream"
            route.fulfill(body=said, content_type=f"{kind}; charset=utf-8")
        else:
            route.fulfill(json=said)


def translated(stage: Stage) -> Page:
    """The page that translates, when all of its answers are drawn."""
    stage.page.goto("/#q=Jane+visite+l'Afrique.")
    expect(stage.page.locator("#step-name")).to_have_text("Step 1 of 5: ▁Jane")
    return stage.page


def words(view: Locator) -> Locator:
    """Those of both sentences."""
    return view.locator(".sentence .word")


def model(name: str, source: str = "fr", target: str = "en") -> dict[str, Any]:
    """A line of `/models`."""
    return {"name": name, "source": source, "target": target, "beam": 2}


def raced(name: str, bleu: float) -> dict[str, Any]:
    """A system of the road that is served under its name."""
    fields = {"name": name, "model": name, "task": "a task", "bleu": bleu, "flops": 1e15}
    return {**fields, "sentence": SOURCE.text, "translation": TARGET.text}


def attended(
    name: str,
    *pairs: tuple[Encoded, Encoded],
    record: Callable[[Encoded, Encoded], AttentionRecord] = known_record,
) -> dict[str, Any]:
    """What `/attend` answers: sentences and their translations, looked at with known weights."""
    found = pairs or ((SOURCE, TARGET),)
    sentences = [
        {
            "source": source.text,
            "text": target.text,
            "attention": to_wire(record(source, target), source, target, model=name),
        }
        for source, target in found
    ]
    text = " ".join(target.text for _, target in found)
    return {"text": text, "model": name, "sentences": sentences}


def without_attention(source: Encoded, target: Encoded) -> AttentionRecord:
    """What a model leaves that looks at nothing."""
    return AttentionRecord((*source.pieces, "</s>"), (*target.pieces, "</s>"), {})


def in_words(text: str) -> Encoded:
    """A text, each of its words a piece."""
    words = text.split(" ")
    ends = [len(" ".join(words[: i + 1])) for i in range(len(words))]
    spans = tuple(zip([0, *ends[:-1]], ends, strict=True))
    return Encoded(text, tuple(range(4, 4 + len(words))), tuple(f"▁{w}" for w in words), spans)


def steps(
    pieces: tuple[str, ...], sentence: int = 0, rival: str = "▁rival"
) -> Iterator[tuple[str, Any]]:
    """The best beginning of each step, with 0.75, and what was dropped for it, with 0.05."""
    whole = (*pieces, "</s>")
    for step, piece in enumerate(whole):
        rivals = [{"piece": piece, "probability": 0.75}, {"piece": rival, "probability": 0.05}]
        nodes = [
            {"id": 2 * step + 1 + place, "parent": max(2 * step - 1, 0), "rivals": rivals}
            | {"log_prob": -step - place, **each}
            for place, each in enumerate(rivals)
        ]
        is_end = step == len(pieces)
        yield "step", {"sentence": sentence, "step": step, "is_end": is_end, "nodes": nodes}
    ending = {"text": "", "score": 0.0, "node": 2 * len(pieces) + 1}
    yield "sentence", {"sentence": sentence, "endings": [ending]}


def events(*told: tuple[str, Any]) -> str:
    """A stream of server-sent events."""
    return "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in told)
