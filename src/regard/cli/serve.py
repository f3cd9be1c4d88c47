"""`regard serve`: models behind an address, for programs and for a browser."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from regard.serve.limits import Limits

LOOPBACK = ("127.", "::1", "localhost")


def serve(
    *,
    model: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    runs: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    road: Path | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    api_key_file: Path | None = None,
    cors_origin: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    device: str = "auto",
    limits: Annotated[Limits | None, Parameter(name="*")] = None,
) -> None:
    """Serve models: an API, and a page that shows what they look at.

    LibreTranslate's clients work with it unchanged. docs/serve.md has the routes; the server
    itself has them at /openapi.json. Logs are JSON, a line a request, on standard error; what
    is translated is never logged. SIGTERM and Ctrl-C stop it when running requests are done.

    Args:
        model: a run folder, or NAME=FOLDER; several for several models. Unless given, those that
            came with Regard.
        runs: a folder of a training, finished or not, whose log may be looked at; or NAME=FOLDER.
        road: a folder of `regard road`, or its results.json, for the chart of systems.
        host: the address to listen on; 0.0.0.0 is everywhere.
        port: to listen on; 0 takes any that is free.
        api_key_file: one key a line; only who has one may ask.
        cors_origin: an address such as https://example.org whose pages may use the API.
        device: auto, cpu, cuda or mps.
        limits: what one client may ask for.
    """
    from regard.errors import ConfigError

    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise ConfigError("regard serve needs fastapi; pip install 'regard[serve]'") from None
    from regard.bundled import bundled
    from regard.road.result import read_report
    from regard.serve.desk import Desk
    from regard.serve.keys import Keys, read_keys
    from regard.serve.logs import log_to
    from regard.serve.server import address_of, bind, build_server, load_shelf
    from regard.serve.shelf import named_folders

    limits = limits or Limits()
    folders = named_folders(model, "--model") or bundled()
    trainings = named_folders(runs, "--runs")
    if road is not None:
        read_report(road)  # refused now rather than when somebody looks
    keys = read_keys(api_key_file) if api_key_file else Keys()
    with bind(host, port) as listening:
        shelf = load_shelf(folders, limits, device=device, warn=_warn)
        if not keys.are_required and not host.startswith(LOOPBACK):
            _warn(f"{host} can be reached by others, and there are no keys; see --api-key-file")
        for each in shelf:
            print(f"{each.name}: {each.source or '?'} → {each.target or '?'}")
        print(f"serving on {address_of(listening)}", flush=True)
        log_to(sys.stderr)
        build_server(Desk(shelf, keys, limits, trainings, road), cors_origin).run([listening])


def _warn(line: str) -> None:
    print(f"regard: {line}", file=sys.stderr)
