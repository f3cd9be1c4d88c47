"""What every request passes through: the bound of its body, safe headers, a line in the log."""

import logging
import time
from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.serve.limits import Limits
from regard.serve.logs import LOGGER
from regard.serve.metrics import Metrics
from regard.serve.refusal import LEFT, Refusal

FACTS = "regard.facts"
"""The place in a request's scope for what the log may say of it: numbers and names."""


class Guard:
    """An ASGI application around another.

    Args:
        app: what answers.
        limits: of these the size of a body, enforced while it arrives.
        metrics: told of every request.
        headers: added to every answer.
    """

    def __init__(
        self, app: ASGIApp, limits: Limits, metrics: Metrics, headers: Mapping[str, str]
    ) -> None:
        self.app = app
        self.limits = limits
        self.metrics = metrics
        self.headers = [(k.lower().encode(), v.encode()) for k, v in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        facts: dict[str, Any] = {}
        scope[FACTS] = facts
        status = LEFT

        async def guarded_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = {name for name, _ in message["headers"]}
                added = [pair for pair in self.headers if pair[0] not in own]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        self.metrics.running += 1
        try:
            await self.app(scope, self._bounded(scope, receive), guarded_send)
        except Exception as error:
            status = 500
            LOGGER.error("failed", exc_info=error)
        finally:
            self.metrics.running -= 1
            seconds = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", "unmatched")
            self.metrics.count(route, status, seconds)
            line = {
                "method": scope["method"] if route != "unmatched" else "",
                "route": route,
                "status": status,
                "seconds": round(seconds, 4),
                **facts,
            }
            level = logging.INFO if status < 500 else logging.ERROR
            LOGGER.log(level, "request", extra={"facts": line})

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """The body as it arrives, up to the byte that is too much.

        Raises:
            Refusal: 413, at the first read where the client has announced too much.
        """
        limit = self.limits.max_body
        lengths = [value for name, value in scope["headers"] if name == b"content-length"]
        announced = int(lengths[0]) if lengths and lengths[0].isdigit() else 0
        seen = 0

        async def bounded() -> Message:
            nonlocal seen
            if announced > limit:
                raise _too_large(limit)
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > limit:
                raise _too_large(limit)
            return message

        return bounded


def _too_large(limit: int) -> Refusal:
    return Refusal(413, f"the body has more than {limit:,} bytes; send less at once")
