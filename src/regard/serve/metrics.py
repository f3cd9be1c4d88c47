"""Numbers for Prometheus, in its text format (version 0.0.4)."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable

from regard.serve.shelf import Shelf

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Seconds: from a cached page to a long text on a busy machine.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

Labels = dict[str, str]
Sample = tuple[str, Labels, int | float]


class Metrics:
    """What has been asked so far. Labels are routes, statuses and models: few and known."""

    def __init__(self) -> None:
        self.running = 0
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: Counter[tuple[str, int]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def count(self, route: str, status: int, seconds: float) -> None:
        self._requests[route, status] += 1
        self._buckets[route, bisect_left(BOUNDS, seconds)] += 1
        self._seconds[route] += seconds

    def render(self, shelf: Shelf) -> str:
        """All of it as text."""
        requests: list[Sample] = [
            ("", {"route": route, "status": str(status)}, number)
            for (route, status), number in sorted(self._requests.items())
        ]
        queue: list[Sample] = [
            ("", {"model": each.name}, each.worker.num_waiting) for each in shelf
        ]
        open_now: list[Sample] = [("", {}, self.running)]
        blocks = [
            _block("regard_requests_total", "counter", "requests answered", requests),
            _block("regard_requests_running", "gauge", "requests open", open_now),
            _block("regard_request_seconds", "histogram", "until answered", self._histogram()),
            _block("regard_queue_jobs", "gauge", "requests that wait for a model", queue),
        ]
        for field, meaning in (
            ("batches", "batches decoded"),
            ("sentences", "sentences translated"),
            ("source_pieces", "pieces read"),
            ("target_pieces", "pieces written"),
            ("refused", "requests refused because too many waited"),
            ("left", "requests whose client left before the answer"),
        ):
            samples: list[Sample] = [
                ("", {"model": each.name}, getattr(each.worker.tally, field)) for each in shelf
            ]
            blocks.append(_block(f"regard_{field}_total", "counter", meaning, samples))
        return "".join(blocks)

    def _histogram(self) -> list[Sample]:
        samples: list[Sample] = []
        for route in sorted(self._seconds):
            total = 0
            for i, bound in enumerate((*map(str, BOUNDS), "+Inf")):
                total += self._buckets[route, i]
                samples.append(("_bucket", {"route": route, "le": bound}, total))
            samples.append(("_sum", {"route": route}, self._seconds[route]))
            samples.append(("_count", {"route": route}, total))
        return samples


def _block(name: str, kind: str, meaning: str, samples: Iterable[Sample]) -> str:
    lines = [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
    for suffix, labels, value in samples:
        written = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
        lines.append(f"{name}{suffix}{{{written}}} {value}" if labels else f"{name} {value}")
    return "\n".join(lines) + "\n"


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
