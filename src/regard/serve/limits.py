"""What one client may ask for, so that the others are served too."""

from dataclasses import asdict, dataclass

from regard.decoding.config import MAX_BEAM
from regard.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Sizes, numbers and seconds; the command line has an option for each.

    Attributes:
        max_body: bytes of a request's body; more is 413.
        max_texts: texts in a request; more is 413.
        max_characters: characters of all texts of a request; more is 413.
        max_looked: characters of a text whose attention is asked for; more is 413.
        max_beam: hypotheses kept at each step.
        max_queue: requests that wait for one model; more get 429.
        max_connections: connections at once; more get 503.
        max_seconds: until an answer; later it is 503.
        patience: seconds for a request to arrive whole, and for a reader to go on reading.
        linger: seconds that a batch waits for sentences of other clients.
        stop_within: seconds that running requests have when the server is stopped.
    """

    max_body: int = 262_144
    max_texts: int = 128
    max_characters: int = 10_000
    max_looked: int = 2_000
    max_beam: int = 8
    max_queue: int = 64
    max_connections: int = 1_000
    max_seconds: float = 60.0
    patience: float = 10.0
    linger: float = 0.005
    stop_within: int = 20

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            may_be_zero = name in ("linger", "stop_within")
            if value < 0 or (value == 0 and not may_be_zero):
                least = "0 or more" if may_be_zero else "more than 0"
                raise ConfigError(f"{name} = {value}: expected {least}")
        if self.max_beam > MAX_BEAM:
            raise ConfigError(f"max_beam = {self.max_beam:,}: expected {MAX_BEAM:,} at most")
