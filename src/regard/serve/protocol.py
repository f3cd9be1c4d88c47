"""Connections that do not wait for ever: uvicorn's, with two timers."""

import asyncio
import socket
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from regard.serve.limits import Limits

# Bytes of an answer that the system may hold before it sends them. It asks for more only when a
# good part of them is gone, and would hold megabytes: a slow reader would seem to have stopped.
HELD = 16_384


class PatientProtocol(H11Protocol):
    """HTTP/1.1 in which a request arrives within a time, and a reader goes on reading.

    uvicorn itself only closes connections that are idle between two requests. Here one is cut
    when a request, headers and body, has not arrived whole `patience` seconds after the
    connection was made or its first byte came, and when as long nothing was taken of an answer
    that waits to be sent. Who reads slowly but steadily is waited for.
    """

    limits: Limits

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # tell us of every byte that waits to be sent
        connection = transport.get_extra_info("socket")
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, HELD)
        else:  # bounds what is under way too, so that an answer takes more round trips
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, HELD)
        self._reading = self._cut_later()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):  # headers or body still to come
            self._reading = self._reading or self._cut_later()
        elif self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._reading, self._writing):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def _cut_later(self) -> asyncio.TimerHandle:
        return self.loop.call_later(self.limits.patience, self.transport.abort)

    def _watch_reader(self) -> None:
        waiting = self.transport.get_write_buffer_size()
        self._writing = self.loop.call_later(self.limits.patience, self._look_again, waiting)

    def _look_again(self, before: int) -> None:
        """Go on waiting where less waits to be sent than before."""
        if self.transport.get_write_buffer_size() < before:
            self._watch_reader()
        else:
            self.transport.abort()


def protocol_with(limits: Limits) -> type[PatientProtocol]:
    """The protocol for one server, which uvicorn makes an object of for each connection."""
    return type("Protocol", (PatientProtocol,), {"limits": limits})
