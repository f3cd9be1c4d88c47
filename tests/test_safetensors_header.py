"""The header of a safetensors file: what the library reads is accepted, all else refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError
from safetensors.torch import load, save

from regard.errors import ModelFileError
from regard.safetensors_header import (
    DTYPE_BYTES,
    MAX_HEADER_BYTES,
    MAX_TENSORS,
    TensorEntry,
    parse_header,
    read_header,
)

shapes = st.lists(st.integers(0, 4), max_size=4)
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool)


def file_of(header: Any, data: bytes = b"") -> bytes:
    """A file with this header, its length right."""
    written = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(written).to_bytes(8, "little") + written + data


def entry(begin: int, end: int, shape: list[Any] | None = None, dtype: Any = "U8") -> Any:
    shape = [end - begin] if shape is None else shape
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def refusal(tmp_path: Path, content: bytes) -> str:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        read_header(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and "\n" not in message and len(message) < 500
    return message


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
            lambda name: name != "__metadata__"
        ),
        st.tuples(shapes, st.sampled_from(DTYPES)),
    )
)
def test_what_the_library_writes_is_read(tensors: dict[str, tuple[list[int], torch.dtype]]) -> None:
    content = save({n: torch.zeros(s, dtype=d) for n, (s, d) in tensors.items()}, {"format": "pt"})
    length = int.from_bytes(content[:8], "little")
    found = parse_header(content[8 : 8 + length], len(content) - 8 - length)
    assert {n: list(e.shape) for n, e in found.items()} == {n: s for n, (s, _) in tensors.items()}


@given(st.binary(max_size=60), st.integers(0, 8))
def test_what_is_accepted_the_library_reads(header: bytes, num_data: int) -> None:
    try:
        found = parse_header(header, num_data)
    except ValueError:
        return
    assert load(file_of(header, bytes(num_data))).keys() == found.keys()


sizes = st.integers(-1, 9)
entries = st.dictionaries(
    st.sampled_from("abc"),
    st.builds(
        lambda dtype, shape, begin, end: entry(begin, end, shape, dtype),
        st.sampled_from(["U8", "F16", "F32", "Q4"]),
        st.lists(sizes, max_size=2),
        sizes,
        sizes,
    ),
)


@given(entries, st.integers(0, 12))
def test_a_header_is_accepted_if_and_only_if_the_library_accepts_it(
    header: dict[str, Any], num_data: int
) -> None:
    content = json.dumps(header).encode()
    try:
        expected: set[str] | None = set(load(file_of(content, bytes(num_data))))
    except SafetensorError:
        expected = None
    try:
        found: set[str] | None = set(parse_header(content, num_data))
    except ValueError:
        found = None
    assert found == expected


def test_entries_come_in_the_order_of_their_bytes(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(file_of({"b": entry(2, 6, [2], "F16"), "a": entry(0, 2)}, bytes(6)))
    assert list(read_header(path).items()) == [
        ("a", TensorEntry("U8", (2,), 0, 2)),
        ("b", TensorEntry("F16", (2,), 2, 6)),
    ]


HUGE = 2**62
REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "0 bytes; its header has 8 and more"),
    "half a length": (b"\x01\0\0", "3 bytes; its header has 8 and more"),
    "a length beyond the file": ((HUGE).to_bytes(8, "little") + b"{}", "a header of 4,611,686,018"),
    "an oversized header": (
        file_of(b"{}" + b" " * MAX_HEADER_BYTES),
        f"a header of {MAX_HEADER_BYTES + 2:,} bytes; {MAX_HEADER_BYTES:,} are the most",
    ),
    "no JSON": (file_of(b"{nope"), "its header: Expecting property name"),
    "a list": (file_of([]), "its header is not a JSON object"),
    "a space before it": (file_of(b" {}"), "its header is not a JSON object"),
    "not UTF-8": (file_of(b'{"\xff": 1}'), "its header: byte 3 is not UTF-8"),
    "too deep": (file_of(b'{"a":' + b"[" * 100_000), "its header: nested too deeply"),
    "a long number": (file_of(b'{"a": ' + b"9" * 5000 + b"}"), "its header: Exceeds the limit"),
    "a name twice": (
        file_of(b'{"a": 1, "a": 2}'),
        "its header: 'a' stands twice in one object",
    ),
    "a lone surrogate": (file_of(b'{"\\ud800": 1}'), "its header: it spells a lone surrogate"),
    "metadata": (file_of({"__metadata__": {"a": 1}}), "__metadata__ is not a table of strings"),
    "too many": (
        file_of({str(n): entry(0, 0) for n in range(MAX_TENSORS + 1)}),
        f"{MAX_TENSORS + 1:,} tensors; {MAX_TENSORS:,} are the most",
    ),
    "no entry": (file_of({"a": 1}), "tensor 'a' has not just dtype, shape and data_offsets"),
    "a key more": (file_of({"a": {**entry(0, 0), "x": 1}}), "has not just dtype, shape and"),
    "a dtype": (file_of({"a": entry(0, 1, dtype="F3")}, b"1"), "is of dtype 'F3'; it is not"),
    "a dtype of lists": (file_of({"a": entry(0, 1, dtype=[])}, b"1"), "is of dtype []; it is"),
    "a negative shape": (file_of({"a": entry(0, 1, [-1, -1])}, b"1"), "has no shape but [-1, -1]"),
    "true as a shape": (file_of({"a": entry(0, 1, [True])}, b"1"), "has no shape but [True]"),
    "half a shape": (file_of({"a": entry(0, 1, [0.5])}, b"1"), "has no shape but [0.5]"),
    "a number as a shape": (file_of({"a": {**entry(0, 1), "shape": 1}}, b"1"), "no shape but 1"),
    "nine dimensions": (file_of({"a": entry(0, 1, [1] * 9)}, b"1"), "has no shape but [1, 1"),
    "a shape that overflows": (
        file_of({"a": entry(0, 0, [HUGE, 4], "F32")}),
        "has 0 bytes, F32 [4611686018427387904, 4] needs 73,786,976,294,838,206,464",
    ),
    "a size beyond 63 bits": (file_of({"a": entry(0, 0, [2**63])}), "has no shape but [9223372"),
    "a place beyond": (file_of({"a": entry(0, 2**64, [1])}), "has no place but [0, 18446744"),
    "an end before its begin": (file_of({"a": entry(5, 3, [1])}), "has -2 bytes, U8 [1] needs 1"),
    "an overlap": (
        file_of({"a": entry(0, 4), "b": entry(2, 6)}, bytes(6)),
        "tensor 'b' overlaps the tensor before it, at byte 2",
    ),
    "a hole": (
        file_of({"a": entry(0, 2), "b": entry(3, 6)}, bytes(6)),
        "tensor 'b' leaves a hole, at byte 3",
    ),
    "a hole in front": (file_of({"a": entry(1, 2)}, bytes(2)), "tensor 'a' leaves a hole, at by"),
    "bytes after the end": (
        file_of({"a": entry(0, 2)}, bytes(9)),
        "9 bytes of numbers, its header describes 2",
    ),
    "bytes missing": (file_of({"a": entry(0, 9)}, bytes(2)), "2 bytes of numbers, its header desc"),
}


@pytest.mark.parametrize(("content", "message"), REFUSED.values(), ids=REFUSED)
def test_anything_else_is_refused_in_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    found = refusal(tmp_path, content)
    assert "not a readable safetensors file (" in found
    assert message in found


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"absent: not found; it belongs to this folder"):
        read_header(tmp_path / "absent")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="not a regular file"):
        read_header(tmp_path)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_size_of_a_dtype_is_torch_s(dtype: torch.dtype) -> None:
    content = save({"a": torch.zeros(1, dtype=dtype)})
    length = int.from_bytes(content[:8], "little")
    (found,) = parse_header(content[8 : 8 + length], dtype.itemsize).values()
    assert DTYPE_BYTES[found.dtype] == dtype.itemsize
