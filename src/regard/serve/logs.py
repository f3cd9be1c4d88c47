"""Logs as JSON, one object a line, without a word of what anybody wrote."""

import json
import logging
import traceback
from datetime import UTC, datetime
from typing import IO, Any

LOGGER = logging.getLogger("regard.serve")


class JsonLines(logging.Formatter):
    """A record as one line of JSON; an exception by its type and place, its text left out."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            fields |= exception_facts(record.exc_info[1])
        return json.dumps(fields, ensure_ascii=False)


def exception_facts(error: BaseException) -> dict[str, Any]:
    """What went wrong and where; the message might hold a client's text."""
    places = traceback.extract_tb(error.__traceback__)
    return {
        "exception": type(error).__name__,
        "at": [f"{place.filename}:{place.lineno} {place.name}" for place in places],
    }


def log_to(stream: IO[str]) -> None:
    """Let our logger and uvicorn's write there."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    for name in (LOGGER.name, "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(logging.INFO)
