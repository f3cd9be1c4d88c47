"""`regard serve` as a process: it says where it is, serves, and stops when it is told to."""

import json
import signal
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from regard.cli.app import main
from tests.serve.running import TIMEOUT, Child, child

SENTENCE = "Jane visite l'Afrique en septembre."


def request(body: dict[str, Any]) -> bytes:
    content = json.dumps(body).encode()
    head = "POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


def connect(server: Child) -> socket.socket:
    return socket.create_connection(server.place, timeout=TIMEOUT)


def read_all(client: socket.socket) -> bytes:
    content = b""
    while chunk := client.recv(65536):
        content += chunk
    return content


def test_sigterm_finishes_what_runs_and_accepts_nothing_new(trained_run: Path) -> None:
    with child("--model", f"mine={trained_run}", "--linger", "1.0") as server:
        with connect(server) as waiting, connect(server) as idle:
            waiting.sendall(request({"q": SENTENCE}))  # waits a second for company
            idle.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b'"waiting":1' in _until_brace(idle)
            server.process.send_signal(signal.SIGTERM)
            answer = read_all(waiting)
        assert answer.startswith(b"HTTP/1.1 200") and b"translatedText" in answer
        assert server.process.wait(TIMEOUT) == 0
        with pytest.raises(ConnectionRefusedError):
            connect(server)
    logged = [json.loads(line) for line in server.log]
    requests = [line for line in logged if line["event"] == "request"]
    assert [line["route"] for line in requests] == ["/health", "/translate"]


def test_what_runs_too_long_is_stopped(trained_run: Path) -> None:
    arguments = ("--model", str(trained_run), "--linger", "1", "--stop-within", "0")
    with child(*arguments) as server, connect(server) as first, connect(server) as stuck:
        first.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        _until_brace(first)  # from now on signals are the server's own
        stuck.sendall(request({"q": SENTENCE})[:-5])  # the rest never comes
        threading.Event().wait(0.3)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(TIMEOUT) == 0


def _until_brace(client: socket.socket) -> bytes:
    content = b""
    while not content.endswith(b"}"):
        content += client.recv(4096)
    return content


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "absent"], "absent: no such run folder; `regard train` makes one"),
        (["--model", "a", "--model", "b/a"], "--model b/a: a is called a too"),
        (["--model", "a", "--api-key-file", "absent"], "absent: not found"),
        (["--model", "a", "--road", "absent"], "absent: not found"),
        (["--model", "a", "--host", "203.0.113.7"], "203.0.113.7:0 cannot be listened on"),
        (["--model", "a", "--max-beam", "0"], "max_beam = 0: expected more than 0"),
        (["--model", "a", "--max-beam", "2000"], "max_beam = 2,000: expected 1,000 at most"),
        (["--model", "a", "--linger", "-1"], "linger = -1.0: expected 0 or more"),
    ],
)
def test_what_cannot_be_served_is_one_line(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["serve", "--port", "0", *arguments]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("regard: ") and printed.count("\n") == 1
    assert message in printed


def test_a_port_that_is_taken_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", "--model", "a", "--port", port]) == 2
    assert f"127.0.0.1:{port} cannot be listened on" in capsys.readouterr().err


def test_the_help_names_every_limit(capsys: pytest.CaptureFixture[str]) -> None:
    main(["serve", "--help"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "--max-body" in printed and "bytes of a request's body" in printed
    assert "262144" in printed.replace("_", "").replace(",", "")
