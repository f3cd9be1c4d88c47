"""A stand-in for the server: the page's files, and the API's answers from one small model.

It answers in the shapes that `regard/serve` documents; nothing of it is queued, limited or guarded.
"""

import base64
import hashlib
import json
import math
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import regard
from regard.api import Translator
from regard.errors import RegardError
from regard.lens import ideas
from regard.lens.contexts import word_in_contexts
from regard.lens.html import html_page
from regard.train.history import read_history
from regard.translation import SentenceTranslation, Translation

PAGE = Path(regard.__file__).parent / "serve" / "page"
TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}


class Double(ThreadingHTTPServer):
    """A server of one translator under several names."""

    daemon_threads = True

    def __init__(self, translator: Translator, run: Path, names: tuple[str, ...]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.translator = translator
        self.run = run
        self.names = names
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.lock = threading.Lock()  # a model works for one request at a time

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def translate(self, body: dict[str, Any], **options: Any) -> Translation:
        beam = {"beam": body["beam"]} if body.get("beam") else {}
        with self.lock:
            prefix = body.get("prefix", "")
            found = self.translator.translate([body["q"]], prefix=prefix, **beam, **options)
        return found[0]


@contextmanager
def serving(translator: Translator, run: Path, names: tuple[str, ...]) -> Iterator[Double]:
    """A double in a thread, for as long as this is open."""
    double = Double(translator, run, names)
    thread = threading.Thread(target=double.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield double
    finally:
        double.shutdown()
        thread.join()
        double.server_close()


def policy() -> str:
    """What the server says of the page: its own scripts, and the import maps by their hash."""
    hashes = set()
    for path in PAGE.glob("*.html"):
        for script in re.findall(
            r'<script type="importmap">(.*?)</script>', path.read_text("utf-8")
        ):
            digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
            hashes.add(f"'sha256-{digest}'")
    return f"default-src 'self'; script-src 'self' {' '.join(sorted(hashes))}"


class _Handler(BaseHTTPRequestHandler):
    server: Double

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        name = "index.html" if self.path == "/" else self.path.removeprefix("/page/")
        if (PAGE / name).is_file():
            self._send((PAGE / name).read_bytes(), TYPES.get(Path(name).suffix, "text/plain"))
            return
        answers: dict[str, Any] = {
            "/models": lambda: [
                {"name": name, "source": "fr", "target": "en", "beam": 2}
                for name in self.server.names
            ],
            "/ideas/positions": ideas.positions,
            "/ideas/road": lambda: ideas.road(
                [
                    {
                        "name": name,
                        "task": "phrasebook, fr → en",
                        "bleu": 40.0 + place,
                        "flops": 10.0 ** (15 + place),
                        "sentence": "Jane voit un livre.",
                        "translation": "Jane sees a book.",
                        "model": name,
                    }
                    for place, name in enumerate(self.server.names)
                ]
            ),
            "/runs": lambda: [{"name": "mine"}],
            "/runs/mine": lambda: read_history(self.server.run),
        }
        self._answer(answers)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body))
        if self.path == "/translate/stream":
            self._stream(self.server.translate(body))
        elif self.path == "/attend" and self.headers["Accept"] == "text/html":
            (found,) = self.server.translate(body, attention=True).sentences
            self._send(html_page(found.to_wire(body["model"])).encode(), "text/html")
        else:
            self._answer(
                {
                    "/attend": lambda: self._attend(body),
                    "/ideas/weather": lambda: ideas.weather(body["query"]),
                    "/ideas/by-hand": lambda: ideas.by_hand(body["inputs"], body["score"]),
                    "/ideas/masks": lambda: ideas.masks(**body),
                    "/ideas/heads": lambda: self._heads(body),
                    "/ideas/contexts": lambda: self._contexts(body),
                }
            )

    def _attend(self, body: dict[str, Any]) -> dict[str, Any]:
        found = self.server.translate(body, attention=True)
        sentences = []
        for sentence in found.sentences:
            fields = sentence.to_json()
            floats = fields.pop("attention")
            more = {"floats": floats} if body.get("floats") else {}
            sentences.append({**fields, **more, "attention": sentence.to_wire(body["model"])})
        return {"text": found.text, "model": body["model"], "sentences": sentences}

    def _heads(self, body: dict[str, Any]) -> dict[str, Any]:
        (record,) = self.server.translate(body, attention=True).attention
        return ideas.heads(record)

    def _contexts(self, body: dict[str, Any]) -> dict[str, Any]:
        translator = self.server.translator
        words = (body["first"], body["second"], body["word"])
        with self.server.lock:
            tokeniser = translator.tokenisers.source
            return word_in_contexts(translator.models[0], tokeniser, *words).to_json()

    def _stream(self, found: Translation) -> None:
        """The nodes of the best and, from the middle on, of one that was dropped."""
        lines = []
        for number, sentence in enumerate(found.sentences):
            for name, data in _told(number, sentence):
                lines.append(f"event: {name}\ndata: {json.dumps(data)}\n\n")
        self._send("".join(lines).encode(), "text/event-stream")

    def _answer(self, answers: dict[str, Any]) -> None:
        if self.path not in answers:
            self._send(b'{"error": "there is no such address"}', "application/json", 404)
            return
        try:
            content = answers[self.path]()
        except RegardError as error:
            self._send(json.dumps({"error": str(error)}).encode(), "application/json", 400)
            return
        self._send(json.dumps(content).encode(), "application/json")

    def _send(self, content: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", policy())
        with suppress(BrokenPipeError):  # who typed on does not wait for this answer
            self.end_headers()
            self.wfile.write(content)


def _told(number: int, sentence: SentenceTranslation) -> Iterator[tuple[str, dict[str, Any]]]:
    best = sentence.best
    pieces = [*best.target.pieces, "</s>"]
    parent, total = 0, 0.0
    for step, (piece, log_prob) in enumerate(zip(pieces, best.log_probs, strict=True)):
        total += log_prob
        chosen = {"piece": piece, "probability": math.exp(log_prob)}
        rivals = [chosen, {"piece": "▁rival", "probability": (1 - math.exp(log_prob)) / 2}]
        node = {"id": 2 * step + 1, "parent": parent, **chosen, "log_prob": total, "rivals": rivals}
        dropped = {**node, "id": 2 * step + 2, **rivals[1], "log_prob": total - 1}
        is_end = step == len(pieces) - 1
        nodes = [node] if is_end else [node, dropped]
        yield "step", {"sentence": number, "step": step, "is_end": is_end, "nodes": nodes}
        parent = 2 * step + 1
    ending = {"text": best.text, "score": best.score, "node": parent}
    yield "sentence", {"sentence": number, "endings": [ending]}
