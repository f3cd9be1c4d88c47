"""A server of ours on a free port of this machine, and a client for it."""

import asyncio
import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import regard
from regard.api import Translator
from regard.serve.desk import Desk
from regard.serve.keys import Keys
from regard.serve.limits import Limits
from regard.serve.server import Server, address_of, bind, build_server
from regard.serve.shelf import Served, Shelf
from regard.serve.worker import Worker

TIMEOUT = 30.0
ANNOUNCED = "serving on "
PROGRAM = "import sys; from regard.cli.app import main; sys.exit(main())"


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True, slots=True)
class Running:
    """A running server.

    Attributes:
        address: such as http://127.0.0.1:8123.
        shelf: its models.
    """

    address: str
    server: Server
    shelf: Shelf

    @property
    def place(self) -> tuple[str, int]:
        return _place(self.address)

    @property
    def worker(self) -> Worker:
        return next(iter(self.shelf)).worker

    def get(self, path: str, **headers: str) -> Reply:
        return self.call("GET", path, None, headers)

    def post(self, path: str, **fields: Any) -> Reply:
        body = json.dumps(fields).encode()
        return self.call("POST", path, body, {"Content-Type": "application/json"})

    def call(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Reply:
        connection = http.client.HTTPConnection(*self.place, timeout=TIMEOUT)
        try:
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            return Reply(
                response.status,
                {name.lower(): value for name, value in response.getheaders()},
                response.read(),
            )
        finally:
            connection.close()


@contextmanager
def running(
    models: Mapping[str, Translator],
    *,
    limits: Limits | None = None,
    keys: Keys | None = None,
    origins: tuple[str, ...] = (),
    runs: Mapping[str, Path] | None = None,
    race: Path | None = None,
) -> Iterator[Running]:
    """Serve in a thread until the block ends."""
    limits = limits or Limits()
    shelf = Shelf([Served(name, Worker(each, limits)) for name, each in models.items()])
    listening = bind("127.0.0.1", 0)
    address = address_of(listening)
    server = build_server(Desk(shelf, keys or Keys(), limits, runs or {}, race), origins)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
    thread.start()
    try:
        until(lambda: server.started)
        yield Running(address, server, shelf)
    finally:
        server.should_exit = True
        thread.join(TIMEOUT)
        assert not thread.is_alive()


@dataclass(frozen=True, slots=True)
class Child:
    """`regard serve` in a process of its own.

    Attributes:
        process: to be waited for, or told to stop.
        place: its host and port.
        log: the lines it has written on standard error.
    """

    process: subprocess.Popen[str]
    place: tuple[str, int]
    log: list[str]


@contextmanager
def child(*arguments: str, program: str = PROGRAM) -> Iterator[Child]:
    """A process that serves until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, "serve", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(regard.__file__).parents[1])},
    )
    assert process.stdout is not None and process.stderr is not None
    log: list[str] = []
    reader = threading.Thread(target=log.extend, args=(process.stderr,))  # else the pipe fills up
    reader.start()
    try:
        lines = iter(process.stdout.readline, "")
        announced = next((line for line in lines if line.startswith(ANNOUNCED)), "")
        assert announced, log
        yield Child(process, _place(announced.removeprefix(ANNOUNCED).strip()), log)
    finally:
        process.kill()
        process.wait()
        reader.join()
        process.stdout.close()
        process.stderr.close()


def _place(address: str) -> tuple[str, int]:
    parts = urlsplit(address)
    assert parts.hostname and parts.port
    return parts.hostname, parts.port


def until(is_so: Any, seconds: float = TIMEOUT) -> None:
    """Wait for something that happens in another thread."""
    due = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < due, "it did not happen in time"
        time.sleep(0.005)


def events(content: bytes) -> list[tuple[str, Any]]:
    """The server-sent events of an answer, by name."""
    found = []
    for block in content.decode().strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        found.append((fields["event"], json.loads(fields["data"])))
    return found


def page_folder(place: Path, files: Mapping[str, str]) -> Path:
    """A folder with a page of these files."""
    for name, text in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return place
