"""Files that somebody else wrote: read within a bound, and with one meaning only."""

import json
import re
import stat
from collections import Counter
from pathlib import Path
from typing import Any

from regard.errors import ModelFileError

# What files that Python's pickle reads are called.
PICKLES = {".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib", "pytorch_model.bin"}

_SHOWN_CHARACTERS = 80
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


def read_bounded(path: Path, max_bytes: int) -> bytes:
    """The content of a regular file that is not larger than it should be.

    A pipe, at which one could wait for ever, is not opened.

    Raises:
        ModelFileError: it is missing, no file, too large or unreadable.
    """
    try:
        check_regular(path, max_bytes)
        with path.open("rb") as file:
            return file.read(max_bytes)
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read ({error.strerror})") from None


def check_regular(path: Path, max_bytes: int | None = None) -> int:
    """The size of a regular file.

    Raises:
        ModelFileError: it is missing, no file, or larger than it may be.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        raise ModelFileError(f"{path}: not found; it belongs to this folder, restore it") from None
    except (OSError, ValueError) as error:  # ValueError: no file can have this name
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"{path}: cannot be read ({reason})") from None
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError(f"{path}: not a regular file")
    if max_bytes is not None and status.st_size > max_bytes:
        raise ModelFileError(
            f"{path}: {status.st_size:,} bytes; such a file has {max_bytes:,} at most"
        )
    return status.st_size


def parse_json(content: bytes) -> Any:
    """Strict JSON: UTF-8, no key twice in an object, no NaN, no lone surrogate, not too deep.

    Raises:
        ValueError: it is anything else; the reason is one short line.
    """
    try:
        value = json.loads(content.decode(), object_pairs_hook=_once, parse_constant=_refuse)
        if _SURROGATE_ESCAPE.search(content):
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg}: line {error.lineno:,} column {error.colno:,}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1:,} is not UTF-8") from None
    except UnicodeEncodeError:
        raise ValueError("it spells a lone surrogate, which is no character") from None
    return value


def shown(value: object) -> str:
    """What a file says, as a message repeats it: short and on one line."""
    written = repr(value)
    return written if len(written) <= _SHOWN_CHARACTERS else f"{written[:_SHOWN_CHARACTERS]}…"


def named(name: str) -> str:
    """A name as a message repeats it: as it is, unless it is long or has odd characters."""
    return name if name.isprintable() and len(name) <= _SHOWN_CHARACTERS else shown(name)


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path lies in a folder, all links followed; one that cannot exist does not."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # too long, a ring of links, a NUL
        return False


def check_own(folder: Path, root: Path) -> None:
    """Refuse a folder of a run with files that are not its own: links to elsewhere, pickles.

    Raises:
        ModelFileError: naming the file.
    """
    for path in sorted(folder.iterdir()):
        if not is_inside(path, root):
            raise ModelFileError(f"{path}: a link to outside of {root}")
        if path.suffix in PICKLES or path.name in PICKLES:
            raise ModelFileError(
                f"{path}: a pickle, which may run any program when it is read; remove it"
            )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"{shown(twice)} stands twice in one object")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
