"""Folders of other programs: written whole or not at all, without a manifest of ours."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.bounded import parse_json, read_bounded
from regard.errors import ModelFileError

# As large as the vocabulary of a million pieces, the largest file but the weights.
MAX_FILE_BYTES = 64_000_000


@contextmanager
def appearing(folder: Path) -> Iterator[Path]:
    """Yield an empty temporary folder; on leaving, give it its name.

    Raises:
        ModelFileError: the folder exists already, or cannot be written.
    """
    if folder.exists():
        raise ModelFileError(f"{folder} exists already; remove it or choose another name")
    temporary = folder.parent / f".{folder.name}.{os.getpid()}.tmp"
    try:
        temporary.mkdir(parents=True)
        yield temporary
        temporary.rename(folder)
    except OSError as error:
        raise ModelFileError(f"{folder} cannot be written ({error.strerror or error})") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write readable JSON."""
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", "utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        ModelFileError: it is missing, or anything else.
    """
    try:
        content = parse_json(read_bounded(path, MAX_FILE_BYTES))
    except ValueError as error:
        raise ModelFileError(f"{path}: not readable JSON ({error})") from None
    if not isinstance(content, dict):
        raise ModelFileError(f"{path}: expected a JSON object, found {type(content).__name__}")
    return content
