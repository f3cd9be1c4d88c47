"""What a client may do wrong, by accident or on purpose: refused, and the others are served."""

import http.client
import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from regard.api import Translator
from regard.serve.limits import Limits
from regard.serve.protocol import HELD
from tests.serve.running import Running, running, until

SENTENCE = "Jane visite l'Afrique en septembre."
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PATIENCE = 0.4


@pytest.fixture(scope="module")
def impatient(translator: Translator) -> Iterator[Running]:
    limits = Limits(patience=PATIENCE, max_body=100_000)
    with running({"mine": translator}, limits=limits) as found:
        yield found


def is_served(server: Running) -> bool:
    return server.post("/translate", q=SENTENCE).status == 200


def connected(server: Running) -> socket.socket:
    return socket.create_connection(server.place, timeout=20)


# ------------------------------------------------------------------------------ bodies


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "Expecting value"),
        (b"[]", "expected an object"),
        (b'{"q": "a"', "Expecting ',' delimiter: line 1 column 10"),
        (b"[" * 90_000, "nested too deeply"),
        (b'{"q":' * 20_000, "nested too deeply"),
        (b'{"q": NaN}', "NaN is not JSON"),
        (b'{"q": "a", "beam": Infinity}', "Infinity is not JSON"),
        (b'{"q": "a", "q": "b"}', "'q' stands twice in one object"),
        (b'{"q": "\\ud800"}', "it spells a lone surrogate"),
        (b'{"q": "\xed\xa0\x80"}', "byte 8 is not UTF-8"),
        (b'{"q": "\xff"}', "byte 8 is not UTF-8"),
        (b'{"q": "a", "beam": ' + b"9" * 5000 + b"}", "integer string conversion"),
    ],
    ids=lambda x: str(x[:20]),
)
def test_json_with_no_or_two_meanings_is_refused(
    impatient: Running, body: bytes, reason: str
) -> None:
    for path in ("/translate", "/attend", "/detect", "/translate/stream"):
        reply = impatient.call("POST", path, body, JSON)
        assert reply.status == 400
        assert reply.json["error"].startswith("the body is not understood: ")
        assert reason in reply.json["error"]


@pytest.mark.parametrize(
    "body", [b"q", b"q=a&q=b", b"q=%ff", b"q=\xff", b"&".join([b"a=b"] * 200)], ids=str
)
def test_forms_with_no_or_two_meanings_are_refused(impatient: Running, body: bytes) -> None:
    assert impatient.call("POST", "/translate", body, FORM).status == 400


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data; boundary=x", "", "json"])
def test_a_body_of_another_kind_is_refused(impatient: Running, kind: str) -> None:
    reply = impatient.call("POST", "/translate", b'{"q": "a"}', {"Content-Type": kind})
    assert (reply.status, list(reply.json)) == (415, ["error"])


def test_what_was_sent_is_not_repeated(impatient: Running) -> None:
    reply = impatient.post("/translate", q="a", api_key=["my secret key"])
    assert reply.status == 400
    assert b"secret" not in reply.content


def test_control_characters_and_noncharacters_are_translated(impatient: Running) -> None:
    for text in ("a\0b", "\ufffe\uffff", "\U000e0001", "e" + "\u0301" * 200, "\r\n\t\x1b[2J"):
        assert impatient.post("/translate", q=text).status == 200


def test_a_body_that_announces_too_much_is_refused_unread(impatient: Running) -> None:
    with connected(impatient) as client:
        client.sendall(
            b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: 99999999999\r\n\r\n"
        )
        assert client.recv(100).startswith(b"HTTP/1.1 413")


def test_a_body_that_grows_too_large_is_refused_while_it_arrives(impatient: Running) -> None:
    with connected(impatient) as client:
        client.sendall(
            b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        client.settimeout(0.02)
        num_sent, answer = 0, b""
        while not answer and num_sent < 100:  # of 8 kB each; 100 kB are allowed
            client.sendall(b"2000\r\n" + b" " * 0x2000 + b"\r\n")
            num_sent += 1
            try:
                answer = client.recv(100)
            except TimeoutError:
                continue
        assert answer.startswith(b"HTTP/1.1 413")
        assert num_sent < 40
    assert is_served(impatient)


def test_too_long_a_text_is_refused_before_it_is_cut_into_pieces(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    encode = type(translator.tokenisers.source).encode

    def noting(self: Any, text: str) -> Any:
        seen.append(len(text))
        return encode(self, text)

    monkeypatch.setattr(type(translator.tokenisers.source), "encode", noting)
    long = "a " * 100_000
    with running({"mine": translator}, limits=Limits(max_body=1_000_000)) as server:
        for path in ("/translate", "/translate/stream", "/attend", "/detect", "/ideas/heads"):
            assert server.post(path, q=long).status == 413
        words = {"first": long, "second": "a", "word": "a"}
        assert server.post("/ideas/contexts", **words).status == 413
        assert seen == []
        assert is_served(server) and seen == [len(SENTENCE)]


# ------------------------------------------------------------------------------ slow clients


def ends(client: socket.socket) -> bool:
    """Whether the server closes the connection without an answer."""
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"GET /hea",
        b"GET /health HTTP/1.1\r\nHost: x\r\n",
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b'Content-Length: 50\r\n\r\n{"q": "',
    ],
    ids=["nothing", "a line", "headers", "a body"],
)
def test_a_request_that_never_arrives_is_cut(impatient: Running, beginning: bytes) -> None:
    with connected(impatient) as client:
        client.sendall(beginning)
        assert is_served(impatient)
        assert ends(client)
    until(lambda: not impatient.server.server_state.tasks)


def test_a_byte_now_and_then_does_not_help(impatient: Running) -> None:
    num_sent = 0
    with connected(impatient) as client:
        client.sendall(b"GET /health HTTP/1.1\r\n")
        with suppress(ConnectionError):
            for num_sent in range(200):  # for ten seconds
                client.sendall(f"X-{num_sent}: y\r\n".encode())
                time.sleep(0.05)
    assert num_sent < 100


def test_a_second_request_on_a_connection_is_given_as_long(impatient: Running) -> None:
    with connected(impatient) as client:
        for _ in range(2):
            client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = b""
            while not answer.endswith(b"}"):
                answer += client.recv(4096)
            assert answer.startswith(b"HTTP/1.1 200")
            time.sleep(PATIENCE * 1.5)
        client.sendall(b"GET /health HTTP/1.1\r\n")
        assert ends(client)


def slow_reader(server: Running) -> socket.socket:
    """A connection that holds little of what is not read."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(20)
    client.connect(server.place)
    return client


def ask_for_stream(client: socket.socket, num_sentences: int) -> None:
    """Have more sent than the buffers hold."""
    text = " ".join([SENTENCE] * num_sentences)
    body = json.dumps({"q": text, "rivals": 50, "beam": 8}).encode()
    client.sendall(
        b"POST /translate/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        + f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )


def test_a_reader_who_does_not_read_is_cut(impatient: Running) -> None:
    with slow_reader(impatient) as client:
        ask_for_stream(client, 20)
        until(lambda: impatient.worker.num_waiting > 0)
        until(lambda: impatient.worker.num_waiting == 0)
        until(lambda: not impatient.server.server_state.connections)
        assert is_served(impatient)
        content = b""
        with suppress(ConnectionResetError):
            while chunk := client.recv(65536):
                content += chunk
        assert b"event: done" not in content


def test_a_reader_who_reads_slowly_is_waited_for(translator: Translator) -> None:
    """For longer than patience lasts; what is left is then read at once."""
    patience = 2.0  # no pause of a busy machine is as long
    with (
        running({"mine": translator}, limits=Limits(patience=patience)) as server,
        slow_reader(server) as client,
    ):
        ask_for_stream(client, 2)
        content = client.recv(4096)
        due = time.monotonic() + 2 * patience
        while chunk := client.recv(4096):
            content += chunk
            if time.monotonic() < due:
                time.sleep(0.02)
        assert b"event: done" in content and content.endswith(b"\r\n0\r\n\r\n")
        assert time.monotonic() > due


@pytest.mark.skipif(not hasattr(socket, "TCP_NOTSENT_LOWAT"), reason="the system has no such limit")
def test_little_of_an_answer_is_held_by_the_system(impatient: Running) -> None:
    """More would hide for how long a reader has taken nothing."""
    with connected(impatient):
        until(lambda: len(impatient.server.server_state.connections) > 0)
        for found in impatient.server.server_state.connections:
            connection = found.transport.get_extra_info("socket")
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) == HELD


@pytest.mark.parametrize("connection", ["close", "keep-alive"])
def test_a_reader_who_stops_is_cut(impatient: Running, connection: str) -> None:
    with slow_reader(impatient) as client:
        client.sendall(
            f"GET /openapi.json HTTP/1.1\r\nHost: x\r\nConnection: {connection}\r\n\r\n".encode()
        )
        assert client.recv(1) == b"H"
        until(lambda: not impatient.server.server_state.connections)
        assert is_served(impatient)


def test_a_client_that_leaves_is_counted_and_not_waited_for(translator: Translator) -> None:
    with running({"mine": translator}, limits=Limits(linger=1.0)) as server:
        for path in ("/translate", "/translate/stream"):
            before = server.worker.tally.left
            connection = http.client.HTTPConnection(*server.place)
            connection.request("POST", path, json.dumps({"q": SENTENCE}), JSON)
            until(lambda: server.worker.num_waiting == 1)
            connection.close()
            until(lambda count=before: server.worker.tally.left == count + 1)
        assert server.worker.tally.sentences == 0


# ------------------------------------------------------------------------------ too many


def test_who_comes_too_many_is_told_to_come_later(translator: Translator) -> None:
    with running({"mine": translator}, limits=Limits(max_queue=1, linger=1.0)) as server:
        first = http.client.HTTPConnection(*server.place)
        first.request("POST", "/translate", json.dumps({"q": SENTENCE}), JSON)
        until(lambda: server.worker.num_waiting == 1)
        for path in ("/translate", "/translate/stream", "/attend"):
            reply = server.post(path, q=SENTENCE)
            assert (reply.status, reply.headers["retry-after"]) == (429, "1")
        assert server.get("/health").json["waiting"] == 1
        assert first.getresponse().status == 200
        first.close()


def test_who_waits_too_long_is_told_so(translator: Translator) -> None:
    with running({"mine": translator}, limits=Limits(max_seconds=0.05, linger=1.0)) as server:
        reply = server.post("/translate", q=SENTENCE)
        assert (reply.status, reply.headers["retry-after"]) == (503, "1")
        stream = server.post("/translate/stream", q=SENTENCE)
        assert stream.content.startswith(
            b'event: error\ndata: {"error":"there was no end in time"}'
        )


def test_connections_beyond_the_limit_are_turned_away(translator: Translator) -> None:
    with running({"mine": translator}, limits=Limits(max_connections=5)) as server:
        idle = [connected(server) for _ in range(8)]
        until(lambda: len(server.server.server_state.connections) == 8)
        assert server.get("/health").status == 503
        for client in idle:
            client.close()
        until(lambda: not server.server.server_state.connections)
        assert server.get("/health").status == 200
