"""Many clients at once, and for long: the server stays quick and does not grow."""

import asyncio
import http.client
import json
import os
import random
import resource
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from tests.little_corpus import sentences
from tests.serve.running import PROGRAM, Child, child

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc"),
]

TEXTS = [source for source, _ in sentences()]
NUM_CONNECTIONS = 500
NUM_CLIENTS = 8
# Bytes that the process may grow by with each request; one answer has a few hundred.
MAX_GROWTH = 300

LEAK = f"""
from regard.serve import job
kept, deliver = [], job.Job.deliver
def keeping(self, number, sentence):
    kept.append(bytes(2000))
    deliver(self, number, sentence)
job.Job.deliver = keeping
{PROGRAM}
"""


@pytest.fixture
def many_files() -> Iterator[None]:
    """Let this process open as many connections as the test needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def message(path: str, body: bytes, length: int | None = None) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    size = len(body) if length is None else length
    return f"{head}Content-Length: {size}\r\nConnection: close\r\n\r\n".encode() + body


def translation(n: int) -> bytes:
    return message("/translate", json.dumps({"q": TEXTS[n % len(TEXTS)], "beam": 1}).encode())


async def exchange(address: tuple[str, int], sent: bytes) -> int:
    """Send something on a connection of its own; the status of the answer, 0 for none."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        writer.write(sent)
        await writer.drain()
        line = await asyncio.wait_for(reader.readline(), 60)
        return int(line.split()[1]) if line else 0
    except ConnectionError:
        return 0
    finally:
        writer.close()


def connect(server: Child) -> http.client.HTTPConnection:
    host, port = server.place
    return http.client.HTTPConnection(host, port, timeout=60)


def cpu_seconds(pid: int) -> float:
    """What a process has had of the processors so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Prober(threading.Thread):
    """Asks /health again and again, and notes how many seconds each answer took.

    Seconds in which the machine was busy with other programs do not count.
    """

    def __init__(self, server: Child) -> None:
        super().__init__()
        self.server = server
        self.seconds: list[float] = []
        self.is_over = threading.Event()

    def run(self) -> None:
        pid = self.server.process.pid
        while not self.is_over.wait(0.02):
            started, spent = time.monotonic(), cpu_seconds(pid)
            connection = connect(self.server)
            connection.request("GET", "/health")
            assert connection.getresponse().status == 200
            connection.close()
            taken, spent = time.monotonic() - started, cpu_seconds(pid) - spent
            self.seconds.append(min(taken, spent))


def test_five_hundred_connections_at_once_are_answered_and_health_stays_quick(
    trained_run: Path, many_files: None
) -> None:
    kinds: list[Callable[[int], bytes]] = [
        translation,  # 200, or 429 when too many wait
        lambda n: message("/translate", b"[" * 50_000),  # 400
        lambda n: message("/translate", b'{"q": "', 10**9),  # 413
        lambda n: message("/translate", b'{"q": "', 100),  # the rest never comes
        lambda n: b"GET /health HT",  # nor does this
    ]

    requests = [kinds[n % len(kinds)](n) for n in range(NUM_CONNECTIONS)]

    async def crowd(address: tuple[str, int]) -> list[int]:
        return await asyncio.gather(*(exchange(address, request) for request in requests))

    with child("--model", str(trained_run), "--patience", "5") as server:
        assert asyncio.run(exchange(server.place, translation(0))) == 200  # it is warm
        prober = Prober(server)
        prober.start()
        statuses = asyncio.run(crowd(server.place))
        prober.is_over.set()
        prober.join()
        afterwards = asyncio.run(exchange(server.place, translation(0)))
    by_kind = [Counter(statuses[n :: len(kinds)]) for n in range(len(kinds))]
    each = NUM_CONNECTIONS // len(kinds)
    assert set(by_kind[0]) <= {200, 429} and by_kind[0][200] >= 64
    assert by_kind[1:] == [{400: each}, {413: each}, {0: each}, {0: each}]
    assert max(prober.seconds) < 1.0
    assert afterwards == 200


def growth(program: str, run: Path, num_requests: int) -> float:
    """Bytes a request that a server grows by in the second half of so many requests."""
    sizes: list[int] = []
    statuses: set[tuple[bool, int]] = set()
    numbers = iter(range(num_requests))
    lock = threading.Lock()

    def next_number() -> int | None:
        with lock:
            number = next(numbers, None)
            if number is not None and number % (num_requests // 100) == 0:
                sizes.append(resident(server.process.pid))
            return number

    def ask() -> None:
        dice = random.Random(threading.get_ident())
        connection = connect(server)
        while (number := next_number()) is not None:
            path, body = REQUESTS[number % len(REQUESTS)]
            if "q" in body:
                body = body | {"q": dice.choice(TEXTS)}
            content = json.dumps(body)
            connection.request("POST", path, content, {"Content-Type": "application/json"})
            if number % 47 == 46:  # a client that leaves
                connection.close()
                continue
            response = connection.getresponse()
            response.read()
            statuses.add((bool(body.get("q")), response.status))
        connection.close()

    with child("--model", str(run), program=program) as server:
        clients = [threading.Thread(target=ask) for _ in range(NUM_CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    assert statuses == {(True, 200), (False, 400)}, [s for s in server.log if "error" in s][:3]
    third, last = sizes[50:75], sizes[75:]
    return (mean(last) - mean(third)) / (num_requests / 4)


REQUESTS: list[tuple[str, dict[str, Any]]] = [
    *[("/translate", {"q": "", "beam": 1})] * 14,
    ("/translate", {"q": "", "alternatives": 2}),
    ("/translate", {"q": "", "details": True}),
    ("/translate/stream", {"q": "", "beam": 2}),
    ("/attend", {"q": "", "beam": 1}),
    ("/detect", {"q": ""}),
    ("/translate", {"nothing": True}),
]


def resident(pid: int) -> int:
    """Bytes of a process in memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


@pytest.mark.parametrize(
    ("program", "num_requests"), [(PROGRAM, 20_000), (LEAK, 4_000)], ids=["ours", "planted leak"]
)
def test_twenty_thousand_requests_leave_no_memory_behind(
    trained_run: Path, program: str, num_requests: int
) -> None:
    found = growth(program, trained_run, num_requests)
    assert (found > MAX_GROWTH) == (program == LEAK), f"{found:.0f} bytes a request"
