"""The ids of a corpus on disk, mapped into memory rather than read."""

import hashlib
import json
import os
import shutil
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from jaxtyping import Int64, Integer

from regard.data.corpus import Example
from regard.errors import DataError
from regard.sealed import remove_temporaries, temporary_name
from regard.text.normal import well_formed
from regard.text.pair import TokeniserPair

FORMAT = 1
INDEX = "store.json"
# Examples encoded at once while a store is built: enough to be fast, little to hold.
CHUNK = 10_000


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of different lengths, end to end in one flat array.

    Row i is flat[offsets[i] : offsets[i + 1]].
    """

    flat: Integer[np.ndarray, " total"]
    offsets: Int64[np.ndarray, " rows_and_one"]

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> "Rows":
        """Lay out rows that are in memory."""
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        return cls(np.fromiter(chain.from_iterable(rows), np.int32, offsets[-1]), offsets)

    @classmethod
    def joined(cls, parts: Sequence["Rows"]) -> "Rows":
        """The rows of all parts, one part after the other."""
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return cls(np.concatenate([part.flat for part in parts]), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Integer[np.ndarray, " length"]:
        """Row `index`, as a view."""
        return self.flat[self.offsets[index] : self.offsets[index + 1]]

    def lengths(self, rows: Int64[np.ndarray, " n"]) -> Int64[np.ndarray, " n"]:
        """How long the given rows are."""
        lengths: Int64[np.ndarray, " n"] = self.offsets[rows + 1] - self.offsets[rows]
        return lengths


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of text, as UTF-8 end to end in one flat array."""

    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> str:
        return self.rows[index].tobytes().decode()


@dataclass(frozen=True, slots=True)
class Store:
    """The ids of both sides of a corpus, and what training needs of it besides.

    On disk: a folder of flat little-endian arrays, and `store.json` with the key of what they
    were made from and the SHA-256 of each. Ids take two bytes while the vocabulary allows it.

    Attributes:
        source: ids.
        target: ids.
        source_text: the text, where training cuts it anew.
        target_text: likewise.
        links: links between the words of the text, one after the other: i, j, i, j …
    """

    source: Rows
    target: Rows
    source_text: Lines | None = None
    target_text: Lines | None = None
    links: Rows | None = None

    def __len__(self) -> int:
        return len(self.source)

    @classmethod
    def build(
        cls,
        folder: Path,
        examples: Iterable[Example],
        tokenisers: TokeniserPair,
        *,
        key: str,
        has_text: bool = False,
        has_links: bool = False,
    ) -> "Store":
        """Encode the examples into a new folder, which replaces an old one when complete.

        Args:
            folder: where to.
            examples: what to encode.
            tokenisers: what cuts them.
            key: stands for all that decides what the store holds (`store_key`).
            has_text: whether to keep the text, which is kept in any case if the tokenisers sample.
            has_links: whether to keep the links that every example then has, and the text.

        Raises:
            DataError: if the folder cannot be written; an old one is then left as it was.
        """
        temporary = temporary_name(folder)
        try:
            remove_temporaries(folder.parent)
            temporary.mkdir(parents=True)
            has_text = has_text or has_links or tokenisers.sampling > 0
            _write(temporary, examples, tokenisers, key, has_text=has_text, has_links=has_links)
            _replace(temporary, folder)
        except OSError as error:
            raise DataError(
                f"{folder}: the store of ids cannot be written ({error.strerror}); make room or "
                f"give another folder"
            ) from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        return cls.open(folder, key=key)

    @classmethod
    def open(cls, folder: Path, *, key: str) -> "Store":
        """Map a store that was built from what `key` stands for.

        Raises:
            DataError: if it is missing, stale or damaged, naming the file.
        """
        index = _read_index(folder / INDEX)
        if index["key"] != key:
            raise DataError(
                f"{folder / INDEX}: made from another corpus or tokeniser; build the store again"
            )
        source = _open_rows(folder, "source", index["ids"], index["files"])
        target = _open_rows(folder, "target", index["ids"], index["files"])
        if not index["text"]:
            return cls(source, target)
        source_text = Lines(_open_rows(folder, "source-text", "|u1", index["files"]))
        target_text = Lines(_open_rows(folder, "target-text", "|u1", index["files"]))
        if "links.flat" not in index["files"]:
            return cls(source, target, source_text, target_text)
        links = _open_rows(folder, "links", "<i4", index["files"])
        return cls(source, target, source_text, target_text, links)

    @classmethod
    def open_or_build(
        cls,
        folder: Path,
        examples: Callable[[], Iterable[Example]],
        tokenisers: TokeniserPair,
        *,
        key: str,
        has_text: bool = False,
        has_links: bool = False,
    ) -> "Store":
        """Map the store if it is whole and made from the same, and build it otherwise."""
        try:
            return cls.open(folder, key=key)
        except DataError:
            return cls.build(
                folder, examples(), tokenisers, key=key, has_text=has_text, has_links=has_links
            )


def store_key(
    checksums: Iterable[str],
    tokenisers: TokeniserPair,
    *,
    settings: str = "",
    has_text: bool = False,
) -> str:
    """SHA-256 of all that decides what a store holds.

    Args:
        checksums: of the corpus, file by file (`checksum`).
        tokenisers: what cuts it; where they sample the text is kept.
        settings: whatever else decides which examples come out of the files.
        has_text: whether the text is kept in any case.
    """
    has_text = has_text or tokenisers.sampling > 0
    digest = hashlib.sha256(
        json.dumps([FORMAT, tokenisers.fingerprint(), has_text, settings]).encode()
    )
    for each in checksums:
        digest.update(each.encode())
    return digest.hexdigest()


def checksum(path: Path) -> str:
    """SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(
    folder: Path,
    examples: Iterable[Example],
    tokenisers: TokeniserPair,
    key: str,
    *,
    has_text: bool,
    has_links: bool,
) -> None:
    widest = max(len(tokenisers.source), len(tokenisers.target))
    dtype = np.dtype("<u2") if widest <= 2**16 else np.dtype("<i4")
    names = ["source", "target"] + (["source-text", "target-text"] if has_text else [])
    names += ["links"] if has_links else []
    writers = {name: _Writer(folder, name) for name in names}
    try:
        for chunk in _chunks(examples):
            for side, tokeniser in (("source", tokenisers.source), ("target", tokenisers.target)):
                texts = [well_formed(getattr(example, side)) for example in chunk]
                ids = tokeniser.encode_ids(texts)
                flat = np.fromiter(chain.from_iterable(ids), dtype)
                writers[side].add(flat.tobytes(), map(len, ids))
                if has_text:
                    lines = [text.encode() for text in texts]
                    writers[f"{side}-text"].add(b"".join(lines), map(len, lines))
            if has_links:
                ends = [list(chain.from_iterable(sorted(e.links or ()))) for e in chunk]
                flat = np.fromiter(chain.from_iterable(ends), "<i4")
                writers["links"].add(flat.tobytes(), map(len, ends))
    finally:
        for writer in writers.values():
            writer.close()
    files = {path.name: checksum(path) for path in sorted(folder.iterdir())}
    index = {"format": FORMAT, "key": key, "ids": dtype.str, "text": has_text, "files": files}
    with (folder / INDEX).open("w", encoding="utf-8") as file:
        json.dump(index, file, indent=2)
        file.flush()
        os.fsync(file.fileno())


class _Writer:
    """Appends rows to one flat file, and writes their offsets when closed."""

    def __init__(self, folder: Path, name: str) -> None:
        self._flat: BinaryIO = (folder / f"{name}.flat").open("wb")
        self._offsets_path = folder / f"{name}.offsets"
        self._lengths = array("q", [0])

    def add(self, content: bytes, lengths: Iterable[int]) -> None:
        self._flat.write(content)
        self._lengths.extend(lengths)

    def close(self) -> None:
        with self._flat:
            self._flat.flush()
            os.fsync(self._flat.fileno())
        with self._offsets_path.open("wb") as file:
            file.write(np.cumsum(self._lengths, dtype="<i8").tobytes())
            file.flush()
            os.fsync(file.fileno())


def _chunks(examples: Iterable[Example]) -> Iterator[list[Example]]:
    remaining = iter(examples)
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk


def _replace(new: Path, folder: Path) -> None:
    # A rename cannot replace a folder with files in it: the old one steps aside first.
    if folder.exists():
        aside = temporary_name(folder.with_name(f"{folder.name}.old"))
        folder.rename(aside)
        new.rename(folder)
        shutil.rmtree(aside, ignore_errors=True)
    else:
        new.rename(folder)


def _open_rows(folder: Path, name: str, dtype: str, checksums: dict[str, str]) -> Rows:
    flat, offsets = folder / f"{name}.flat", folder / f"{name}.offsets"
    for path in (flat, offsets):
        _verify(path, checksums.get(path.name))
    return Rows(_map(flat, dtype), _map(offsets, "<i8"))


def _map(path: Path, dtype: str) -> np.ndarray[Any, np.dtype[Any]]:
    if path.stat().st_size == 0:  # which mmap refuses
        return np.empty(0, dtype)
    return np.memmap(path, dtype, mode="r").view(np.ndarray)


def _read_index(path: Path) -> dict[str, Any]:
    try:
        index = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise DataError(f"{path}: not found; build the store first") from None
    except (OSError, ValueError):
        raise DataError(f"{path}: damaged; build the store again") from None
    is_ours = (
        isinstance(index, dict)
        and index.get("format") == FORMAT
        and isinstance(index.get("key"), str)
        and index.get("ids") in ("<u2", "<i4")
        and isinstance(index.get("text"), bool)
        and isinstance(index.get("files"), dict)
    )
    if not is_ours:
        raise DataError(f"{path}: not a store of format {FORMAT}; build the store again")
    return dict(index)


def _verify(path: Path, expected: str | None) -> None:
    try:
        is_whole = checksum(path) == expected
    except FileNotFoundError:
        raise DataError(f"{path}: not found; build the store again") from None
    if not is_whole:
        raise DataError(f"{path}: damaged (SHA-256 differs from {INDEX}); build the store again")
