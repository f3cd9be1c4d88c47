"""Files of named arrays: a zip that NumPy writes, read without pickle and of one kind only."""

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import ModelFileError


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayFile:
    """What a file of arrays holds, and how to speak of it.

    Attributes:
        what: its content has this name.
        maker: the command that writes it.
        version: of its format.
        kinds: the type and rank of every array.
    """

    what: str
    maker: str
    version: int
    kinds: Mapping[str, tuple[type[np.generic], int]]

    def write(self, path: Path, arrays: Mapping[str, np.ndarray]) -> None:
        """Write the arrays, compressed, and the version of the format as `format`.

        Raises:
            ModelFileError: the file cannot be written.
        """
        assert arrays.keys() == self.kinds.keys()
        content: dict[str, Any] = {"format": np.array(self.version), **arrays}
        try:
            with path.open("wb") as stream:
                np.savez_compressed(stream, **content)
        except OSError as error:
            raise ModelFileError(f"{path}: cannot be written ({error.strerror})") from None

    def read(self, path: Path) -> dict[str, Any]:
        """The arrays of a file, each of the type and rank it should have.

        Raises:
            ModelFileError: it is missing, damaged, or holds something else.
        """
        expected = f"expected a {self.what} written by `{self.maker}`"
        kinds = {"format": (np.int64, 0), **self.kinds}
        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                missing = [name for name in kinds if name not in file]
                arrays = {name: file[name] for name in kinds if name in file}
        except OSError as error:
            raise ModelFileError(f"{path}: cannot be read ({error.strerror or error})") from None
        except (ValueError, EOFError, TypeError, RuntimeError, zlib.error, zipfile.BadZipFile):
            raise ModelFileError(f"{path}: is damaged or no {self.what}; {expected}") from None
        if missing:
            raise ModelFileError(f"{path}: has no array {missing[0]!r}; {expected}")
        for name, (dtype, rank) in kinds.items():
            if arrays[name].dtype != dtype or arrays[name].ndim != rank:
                raise ModelFileError(f"{path}: the array {name!r} is of another kind; {expected}")
        found = int(arrays.pop("format"))
        if found != self.version:
            raise self.refusal(path, f"has format {found}, this version reads {self.version}")
        return arrays

    def refusal(self, path: Path, fault: str) -> ModelFileError:
        """The error that says what is wrong with a file, and what to do."""
        return ModelFileError(f"{path}: {fault}; make the {self.what} again with `{self.maker}`")

    def words(self, array: np.ndarray, path: Path) -> tuple[str, ...]:
        """What `packed` made an array of.

        Raises:
            ModelFileError: the array is anything else.
        """
        try:
            return tuple(array.tobytes().decode("utf-8", "surrogatepass").split("\n"))
        except UnicodeDecodeError:
            raise self.refusal(path, "its words are not UTF-8") from None


def packed(words: Sequence[str]) -> np.ndarray:
    """Words as the bytes of one text, a word a line."""
    return np.frombuffer("\n".join(words).encode("utf-8", "surrogatepass"), np.uint8)
