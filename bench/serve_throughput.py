"""What serving costs: sentences a second through the server beside the same model offline.

    python bench/serve_throughput.py --model demo/run
    python bench/serve_throughput.py --model demo/run --json > results/serve_throughput.json

Eight clients send sixteen sentences a request and wait for each answer; offline, the same
sentences are one call of `Translator.translate`. The clients run on the same machine as the
server, so what they take of the processor is reported too. Nothing else should be running.
"""

import argparse
import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from workers import (
    Measurement,
    Spread,
    add_delivery,
    deliver,
    machine,
    serve_rounds,
    take_turns,
    tell,
)

NUM_CLIENTS = 8
NUM_SENTENCES = 16
REQUESTS = 8
ROUNDS = 5
SYSTEMS = ("offline", "served")
ANNOUNCED = "serving on "
# It ends with the process that holds the other end of its standard input, even if that is killed.
SERVER = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
from regard.cli.app import main
sys.exit(main())
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", required=True, help="a run folder, French to English")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--requests", type=int, default=REQUESTS, help="of each client, a round")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--worker", choices=SYSTEMS, help=argparse.SUPPRESS)
    add_delivery(parser)
    options = parser.parse_args()
    if options.worker:
        work(options)
    else:
        deliver(measure(options), options, show, draw)


def work(options: argparse.Namespace) -> None:
    """One process: a first round to warm up, then a round whenever it is told to."""
    texts = sentences(NUM_CLIENTS * NUM_SENTENCES * options.requests)
    if options.worker == "offline":
        import regard

        translator = regard.load(options.model)

        def translate() -> Measurement:
            started = time.perf_counter()
            translator.translate(texts, align=False, beam=options.beam)
            return {"sentences_per_second": len(texts) / (time.perf_counter() - started)}

        translate()
        serve_rounds(translate)
        return
    with server(options.model) as (pid, place):
        ask_all(place, texts, options.beam)
        serve_rounds(lambda: served_round(pid, place, texts, options.beam))


def sentences(number: int) -> list[str]:
    """The first sentences of the phrasebook, the same in every process."""
    from regard.data.phrasebook import phrasebook

    return [pair.source for pair in phrasebook(size=4 * number).train[:number]]


def served_round(pid: int, place: tuple[str, int], texts: Sequence[str], beam: int) -> Measurement:
    """How fast the server is, and which share of the processor time its clients took."""
    started, ours, its = time.perf_counter(), time.process_time(), cpu_seconds(pid)
    ask_all(place, texts, beam)
    seconds = time.perf_counter() - started
    ours, its = time.process_time() - ours, cpu_seconds(pid) - its
    return {
        "sentences_per_second": len(texts) / seconds,
        "client_share": ours / max(ours + its, 1e-9),
    }


def ask_all(place: tuple[str, int], texts: Sequence[str], beam: int) -> None:
    """Let every client send its share, a request after the other.

    Raises:
        RuntimeError: one was not answered.
    """
    failed: list[Exception] = []

    def ask(mine: Sequence[str]) -> None:
        connection = http.client.HTTPConnection(*place)
        try:
            for start in range(0, len(mine), NUM_SENTENCES):
                texts = list(mine[start : start + NUM_SENTENCES])
                body = json.dumps({"q": texts, "beam": beam})
                connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
                answer = json.loads(connection.getresponse().read())
                if len(answer["translatedText"]) != len(texts):
                    raise RuntimeError(answer)
        except Exception as error:
            failed.append(error)
        finally:
            connection.close()

    clients = [
        threading.Thread(target=ask, args=(texts[n::NUM_CLIENTS],)) for n in range(NUM_CLIENTS)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    if failed:
        raise RuntimeError("a request was not answered") from failed[0]


@contextmanager
def server(model: str) -> Iterator[tuple[int, tuple[str, int]]]:
    """A server process: its id, its host and port."""
    command = [sys.executable, "-c", SERVER, "serve", "--model", model, "--port", "0"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            address = next(line for line in process.stdout if line.startswith(ANNOUNCED))
            parts = urlsplit(address.removeprefix(ANNOUNCED).strip())
            assert parts.hostname and parts.port
            yield process.pid, (parts.hostname, parts.port)
        finally:
            process.stdin.close()


def cpu_seconds(pid: int) -> float:
    """What a process has had of the processors so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Medians of both, and what serving leaves of the offline speed."""
    given = ["--model", options.model, "--requests", str(options.requests)]
    given += ["--beam", str(options.beam)]
    workers = [["--worker", system, *given] for system in SYSTEMS]
    offline, served = take_turns(Path(__file__), workers, options.rounds, tell)
    speeds = [Spread.of([m["sentences_per_second"] for m in found]) for found in (offline, served)]
    return {
        "command": f"python bench/serve_throughput.py --model {options.model}",
        "clients": NUM_CLIENTS,
        "sentences_a_request": NUM_SENTENCES,
        "sentences_per_second": dict(zip(SYSTEMS, map(asdict, speeds), strict=True)),
        "ratios": {"served.offline": round(speeds[1].median / speeds[0].median, 3)},
        "client_share": round(Spread.of([m["client_share"] for m in served]).median, 3),
        "machine": machine(),
    }


def show(report: dict[str, Any]) -> None:
    for system, speed in report["sentences_per_second"].items():
        spread = f"[{speed['low']:,.0f} … {speed['high']:,.0f}]"
        print(f"{system:8} {speed['median']:8,.0f} sentences/s {spread}")
    print(f"served is {report['ratios']['served.offline']:.2f} × offline")
    print(f"of all processor time the clients took {report['client_share']:.0%}")


def draw(report: dict[str, Any], path: Path) -> None:
    """Two bars of sentences a second."""
    import matplotlib.pyplot as plt

    figure, panel = plt.subplots(figsize=(4.5, 1.8), layout="constrained")
    speeds = report["sentences_per_second"]
    panel.barh(list(speeds), [speed["median"] for speed in speeds.values()], color="#c2410c")
    panel.invert_yaxis()
    panel.set_xlabel("sentences a second")
    panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
