"""Sealed folders: written whole or not at all, and checked when read.

A sealed folder has a `manifest.json` with the format's version and the SHA-256 of every file.
It is written under a temporary name beside its place, each file synced to disk, the manifest
last, then the folder; one rename makes it appear, and the parent is synced. Whatever happens
before the rename leaves what was there before.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.errors import ModelFileError

FORMAT = "regard"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"


@contextmanager
def sealing(folder: Path) -> Iterator[Path]:
    """Yield an empty temporary folder; on leaving, seal it and give it its name.

    If the body raises, or the disk does, the temporary folder is removed.

    Raises:
        ModelFileError: the folder exists already, or cannot be written.
    """
    if folder.exists():
        raise ModelFileError(f"{folder} exists already; remove it or choose another name")
    temporary = folder.parent / f".{folder.name}.{os.getpid()}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    try:
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


def remove_temporaries(parent: Path) -> None:
    """Remove what an interrupted `sealing` left in this folder."""
    for leftover in parent.glob(".*.tmp"):
        shutil.rmtree(leftover, ignore_errors=True)


def verify(folder: Path) -> None:
    """Check every file of a sealed folder against its manifest.

    Raises:
        ModelFileError: no manifest, another format, or a file missing or damaged; the message
            names it.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        form, version, sums = manifest["format"], manifest["version"], manifest["sha256"]
    except FileNotFoundError:
        raise ModelFileError(f"{folder}: no {MANIFEST}; this is not a run folder") from None
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ModelFileError(f"{folder}: {MANIFEST} is damaged ({error})") from None
    if form != FORMAT or version != FORMAT_VERSION:
        raise ModelFileError(
            f"{folder}: format {form!r} version {version!r}; "
            f"this program reads {FORMAT!r} version {FORMAT_VERSION}"
        )
    if not isinstance(sums, dict):
        raise ModelFileError(f"{folder}: {MANIFEST} is damaged (its sha256 is not a table)")
    for name, expected in sums.items():
        path = folder / name
        if "\0" in name or not path.resolve().is_relative_to(folder.resolve()):
            raise ModelFileError(f"{folder}: {MANIFEST} names {name!r}, outside the folder")
        if not path.is_file():
            raise ModelFileError(f"{folder}: {name} is missing")
        if _sha256(path) != expected:
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
