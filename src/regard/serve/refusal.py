"""What a client is told when it does not get what it asked for."""

from collections.abc import Mapping

# Clients that leave without an answer, as nginx counts them.
LEFT = 499
OUR_FAULT = "this should not happen; the server's log says where"


class Refusal(Exception):  # noqa: N818 it is an answer, not a fault
    """A request that is answered with an error: a status, and one line that says what to do.

    Attributes:
        status: of HTTP.
        headers: to be sent with it.
    """

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})


def busy(message: str, status: int = 429) -> Refusal:
    """Too much at once: the same request may do later."""
    return Refusal(status, message, {"Retry-After": "1"})


def left() -> Refusal:
    """Nobody is there to be told."""
    return Refusal(LEFT, "the client left")
