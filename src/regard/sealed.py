"""Sealed folders: written whole or not at all, and checked when read.

A sealed folder has a `manifest.json` with the format's version and the SHA-256 of every file.
It is written under a temporary name beside its place, each file synced to disk, the manifest
last, then the folder; one rename makes it appear, and the parent is synced. Whatever happens
before the rename leaves what was there before. It disappears as it came, by one rename.
"""

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.bounded import is_inside, named, parse_json, read_bounded, shown
from regard.errors import ModelFileError

FORMAT = "regard"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
# A line for each file, and a folder has a handful.
MAX_MANIFEST_BYTES = 1_000_000


@contextmanager
def sealing(folder: Path) -> Iterator[Path]:
    """Yield an empty temporary folder; on leaving, seal it and give it its name.

    If the body raises, or the disk does, the temporary folder is removed; what a killed process
    left of the same folder is removed first.

    Raises:
        ModelFileError: the folder exists already, or cannot be written.
    """
    temporary = temporary_name(folder)
    try:
        if folder.exists():
            raise ModelFileError(f"{folder} exists already; remove it or choose another name")
        remove_temporaries(folder.parent, folder.name)
        temporary.mkdir(parents=True)
        yield temporary
        _seal(temporary)
        temporary.rename(folder)
        _sync(folder.parent)
    except OSError as error:
        raise ModelFileError(
            f"{folder} cannot be written ({error.strerror or error}); "
            "make room, or choose another place"
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def discard(folder: Path) -> None:
    """Remove a sealed folder: under its name it is there whole or not at all."""
    temporary = temporary_name(folder)
    shutil.rmtree(temporary, ignore_errors=True)
    folder.rename(temporary)
    shutil.rmtree(temporary, ignore_errors=True)


def temporary_name(folder: Path) -> Path:
    """Where this process prepares a folder, or takes it apart: beside it, with its own number."""
    return folder.parent / f".{folder.name}.{os.getpid()}.tmp"


def remove_temporaries(parent: Path, name: str | None = None) -> None:
    """Remove what killed processes left in a folder; what a living one works on stays.

    Args:
        parent: where to look.
        name: of the folder that was to be made; any, if None.
    """
    for leftover in parent.iterdir() if parent.is_dir() else ():
        match = re.fullmatch(r"\.(.+)\.(\d+)\.tmp", leftover.name)
        if match and name in (None, match[1]) and not _belongs_to_another(int(match[2])):
            shutil.rmtree(leftover, ignore_errors=True)


def _belongs_to_another(process: int) -> bool:
    """Whether a process of this number, and not ours, is running."""
    if process == os.getpid():
        return False
    if sys.platform == "win32":
        import ctypes

        query = 0x1000  # PROCESS_QUERY_LIMITED_INFORMATION
        handle = ctypes.windll.kernel32.OpenProcess(query, False, process)
        return bool(handle and ctypes.windll.kernel32.CloseHandle(handle))
    try:
        os.kill(process, 0)  # asks only
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def verify(folder: Path) -> None:
    """Check every file of a sealed folder against its manifest.

    Raises:
        ModelFileError: no manifest, another format, or a file missing or damaged; the message
            names it.
    """
    if not (folder / MANIFEST).exists():
        raise ModelFileError(f"{folder}: no {MANIFEST}; this is not a run folder")
    try:
        manifest = parse_json(read_bounded(folder / MANIFEST, MAX_MANIFEST_BYTES))
        form, version, sums = manifest["format"], manifest["version"], manifest["sha256"]
    except (ModelFileError, ValueError, TypeError, KeyError) as error:
        raise ModelFileError(f"{folder}: {MANIFEST} is damaged ({error})") from None
    if form != FORMAT or version != FORMAT_VERSION:
        raise ModelFileError(
            f"{folder}: format {shown(form)} version {shown(version)}; "
            f"this program reads {FORMAT!r} version {FORMAT_VERSION}"
        )
    if not isinstance(sums, dict):
        raise ModelFileError(f"{folder}: {MANIFEST} is damaged (its sha256 is not a table)")
    for name, expected in sums.items():
        path = folder / name
        if not is_inside(path, folder):
            raise ModelFileError(f"{folder}: {MANIFEST} names {shown(name)}, outside the folder")
        try:
            found = _sha256(path) if path.is_file() else None
        except OSError as error:
            raise ModelFileError(f"{folder}: {named(name)}: {error.strerror}") from None
        if found is None:
            raise ModelFileError(f"{folder}: {named(name)} is missing")
        if found != expected:
            raise ModelFileError(f"{folder}: {name} is damaged (SHA-256 differs from the manifest)")


def _seal(folder: Path) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in files:
        _sync(path)
    sums = {path.relative_to(folder).as_posix(): _sha256(path) for path in files}
    manifest = {"format": FORMAT, "version": FORMAT_VERSION, "sha256": sums}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
    _sync(folder / MANIFEST)
    for path in folder.rglob("*"):
        if path.is_dir():
            _sync(path)
    _sync(folder)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    """Flush a file or a folder to disk; Windows cannot open a folder and needs no such sync."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
