"""The header of a safetensors file, read and checked before any memory is set aside for tensors.

    8 bytes: n, little-endian | n bytes: JSON {name: {dtype, shape, data_offsets}} | the numbers

https://github.com/huggingface/safetensors#format. The library reads the numbers; this file
decides whether it is asked to. It is stricter: no name twice, few enough tensors, and sizes that
agree with the dtype, follow one another and end where the file does.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.bounded import check_regular, parse_json, shown
from regard.errors import ModelFileError

# Five hundred layers on each side have some 20,000 tensors, in a header of 3 MB.
MAX_TENSORS = 50_000
MAX_HEADER_BYTES = 8_000_000
MAX_DIMENSIONS = 8

DTYPE_BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1,
    "U16": 2, "I16": 2, "F16": 2, "BF16": 2,
    "U32": 4, "I32": 4, "F32": 4,
    "U64": 8, "I64": 8, "F64": 8,
}  # fmt: skip

_METADATA = "__metadata__"
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """What a header says of one tensor: its numbers are bytes begin … end − 1 after the header."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def read_header(path: Path) -> dict[str, TensorEntry]:
    """The tensors of a safetensors file, in the order of their bytes.

    Raises:
        ModelFileError: it cannot be read, or is anything but a whole safetensors file.
    """
    num_file = check_regular(path)
    try:
        with path.open("rb") as file:
            num_header = _header_length(file.read(8), num_file)
            return parse_header(file.read(num_header), num_file - 8 - num_header)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"{path}: not a readable safetensors file ({reason})") from None


def parse_header(header: bytes, num_data: int) -> dict[str, TensorEntry]:
    """The same for a header in memory that `num_data` bytes of numbers follow.

    Raises:
        ValueError: it is not a header, or does not describe these bytes.
    """
    if not header.startswith(b"{"):
        raise ValueError("its header is not a JSON object")
    try:
        content = parse_json(header)
    except ValueError as error:
        raise ValueError(f"its header: {error}") from None
    metadata = content.pop(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ValueError(f"{_METADATA} is not a table of strings")
    if len(content) > MAX_TENSORS:
        raise ValueError(f"{len(content):,} tensors; {MAX_TENSORS:,} are the most")
    entries = {name: _entry(name, entry) for name, entry in content.items()}
    ordered = sorted(entries.items(), key=lambda item: (item[1].begin, item[1].end))
    done = 0
    for name, entry in ordered:
        if entry.begin != done:
            what = "overlaps the tensor before it" if entry.begin < done else "leaves a hole"
            raise ValueError(f"tensor {shown(name)} {what}, at byte {entry.begin:,}")
        done = entry.end
    if done != num_data:
        raise ValueError(f"{num_data:,} bytes of numbers, its header describes {done:,}")
    return dict(ordered)


def _header_length(start: bytes, num_file: int) -> int:
    if len(start) < 8:
        raise ValueError(f"{len(start)} bytes; its header has 8 and more")
    length = int.from_bytes(start, "little")
    if length > num_file - 8:
        raise ValueError(f"a header of {length:,} bytes in a file of {num_file:,}")
    if length > MAX_HEADER_BYTES:
        raise ValueError(f"a header of {length:,} bytes; {MAX_HEADER_BYTES:,} are the most")
    return length


def _entry(name: str, entry: Any) -> TensorEntry:
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"tensor {shown(name)} has not just dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPE_BYTES:
        raise ValueError(f"tensor {shown(name)} is of dtype {shown(dtype)}; it is not known")
    if not _are_sizes(shape) or len(shape) > MAX_DIMENSIONS:
        raise ValueError(f"tensor {shown(name)} has no shape but {shown(shape)}")
    if not _are_sizes(offsets) or len(offsets) != 2:
        raise ValueError(f"tensor {shown(name)} has no place but {shown(offsets)}")
    begin, end = offsets
    needed = math.prod(shape) * DTYPE_BYTES[dtype]
    if end - begin != needed:
        raise ValueError(
            f"tensor {shown(name)} has {end - begin:,} bytes, {dtype} {shape} needs {needed:,}"
        )
    return TensorEntry(dtype, tuple(shape), begin, end)


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(
        type(number) is int and 0 <= number <= _LARGEST for number in value
    )
