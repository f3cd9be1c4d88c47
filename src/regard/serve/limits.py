"""What one client may ask for, so that the others are served too."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt, Le
from typing_extensions import Doc

from regard.decoding.config import MAX_BEAM


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Sizes, numbers and seconds."""

    max_body: Annotated[int, Gt(0), Doc("bytes of a request's body")] = 262_144
    max_texts: Annotated[int, Gt(0), Doc("texts in a request")] = 128
    max_characters: Annotated[int, Gt(0), Doc("characters of all texts of a request")] = 10_000
    max_looked: Annotated[int, Gt(0), Doc("characters of a text whose attention is asked for")] = (
        2_000
    )
    max_beam: Annotated[int, Gt(0), Le(MAX_BEAM), Doc("hypotheses kept at each step")] = 8
    max_queue: Annotated[int, Gt(0), Doc("requests that wait for one model; more get 429")] = 64
    max_connections: Annotated[int, Gt(0), Doc("connections at once; more get 503")] = 1_000
    max_seconds: Annotated[float, Gt(0), Doc("until an answer; later it is 503")] = 60.0
    patience: Annotated[
        float,
        Gt(0),
        Doc("seconds for a request to arrive whole, and for a reader to go on reading"),
    ] = 10.0
    linger: Annotated[
        float, Ge(0), Le(1), Doc("seconds that a batch waits for sentences of other clients")
    ] = 0.005
    stop_within: Annotated[int, Ge(0), Doc("seconds that running requests have on SIGTERM")] = 20
