"""A running server: models loaded, a socket bound, signals answered."""

import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import uvicorn

from regard.api import load
from regard.errors import ConfigError
from regard.serve.app import create_app
from regard.serve.desk import Desk
from regard.serve.limits import Limits
from regard.serve.protocol import protocol_with
from regard.serve.shelf import Served, Shelf
from regard.serve.worker import Worker

# Connections that wait to be accepted.
BACKLOG = 2048


def load_shelf(
    folders: Mapping[str, Path],
    limits: Limits,
    *,
    device: str = "auto",
    warn: Callable[[str], None] = lambda line: None,
) -> Shelf:
    """Load every model, by the name it is to be served under.

    Raises:
        ModelFileError: a folder is missing, damaged or without weights.
    """
    models = []
    for name, folder in folders.items():
        translator = load(folder, device=device, warn=warn)
        if not (translator.source_language and translator.target_language):
            warn(
                f"{folder}: the run file does not name both languages; "
                f'only requests with "model": "{name}" reach it'
            )
        models.append(Served(name, Worker(translator, limits)))
    return Shelf(models)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes any that is free.

    Raises:
        ConfigError: the address is not ours, or somebody else's already.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise ConfigError(
            f"{host}:{port} cannot be listened on ({error.strerror}); try another --port"
        ) from None


def address_of(listening: socket.socket) -> str:
    """Where a browser finds it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def build_server(desk: Desk, origins: Sequence[str] = ()) -> "Server":
    """An uvicorn server with our application, protocol and patience."""
    limits = desk.limits
    app = create_app(desk, origins=origins)
    return Server(
        uvicorn.Config(
            app,
            http=protocol_with(limits),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=limits.max_connections,
            timeout_graceful_shutdown=limits.stop_within,
        )
    )


class Server(uvicorn.Server):
    """The server of uvicorn; a signal that it has obeyed does not end the process again."""

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        before = {each: signal.signal(each, _obeyed) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            super().run(sockets)
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


def _obeyed(number: int, frame: object) -> None:
    """Nothing to do: uvicorn raises a signal once more when it has stopped."""
