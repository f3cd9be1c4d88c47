import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.corpus import Example
from regard.data.store import Rows, Store, checksum, store_key
from regard.errors import DataError
from regard.text.byte import Bytes
from regard.text.characters import Characters
from regard.text.pair import TokeniserPair
from regard.text.sentencepieces import SentencePieces

EXAMPLES = [
    Example("Jane visite l'Afrique.", "Jane visits Africa."),
    Example("", "é😀"),
    Example("a", ""),
]


def bytes_pair() -> TokeniserPair:
    return TokeniserPair(Bytes(), Bytes())


def sampling_pair() -> TokeniserPair:
    texts = [example.source + " " + example.target for example in EXAMPLES]
    joint = SentencePieces.train(texts, "bpe", vocab_size=300, sampling=0.1)
    return TokeniserPair(joint, joint)


def ids(store: Store) -> list[tuple[list[int], list[int]]]:
    return [(store.source[i].tolist(), store.target[i].tolist()) for i in range(len(store))]


def test_a_row_is_what_the_tokeniser_made_of_its_text(tmp_path: Path) -> None:
    pair = bytes_pair()
    store = Store.build(tmp_path / "train", EXAMPLES, pair, key="k")
    expected = [
        (list(pair.source.encode(e.source).ids), list(pair.target.encode(e.target).ids))
        for e in EXAMPLES
    ]
    assert ids(store) == expected


def test_a_store_of_many_chunks_keeps_every_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.data.store.CHUNK", 2)
    store = Store.build(tmp_path / "train", EXAMPLES, bytes_pair(), key="k")
    monkeypatch.undo()
    assert ids(store) == ids(Store.build(tmp_path / "all", EXAMPLES, bytes_pair(), key="k"))


def test_rows_are_views_of_a_mapped_file(tmp_path: Path) -> None:
    store = Store.build(tmp_path / "train", EXAMPLES, bytes_pair(), key="k")
    assert np.shares_memory(store.source[0], store.source.flat)
    assert isinstance(store.source.flat.base, np.memmap)


@pytest.mark.parametrize(("size", "width"), [(100, 2), (70_000, 4)])
def test_ids_take_two_bytes_while_the_vocabulary_allows(
    size: int, width: int, tmp_path: Path
) -> None:
    letters = Characters([chr(0x10000 + i) for i in range(size - 1)] + ["z"])
    store = Store.build(
        tmp_path / "train", [Example("z", "z")], TokeniserPair(letters, letters), key="k"
    )
    assert store.source.flat.itemsize == width
    assert store.source[0].tolist() == [size + 3]


def test_an_empty_corpus_is_an_empty_store(tmp_path: Path) -> None:
    assert len(Store.build(tmp_path / "train", [], bytes_pair(), key="k")) == 0


def test_the_text_is_kept_where_tokenisers_sample(tmp_path: Path) -> None:
    store = Store.build(tmp_path / "train", EXAMPLES, sampling_pair(), key="k")
    assert store.source_text is not None
    assert store.target_text is not None
    text = [Example(store.source_text[i], store.target_text[i]) for i in range(len(store))]
    assert text == EXAMPLES


def test_no_text_is_kept_where_they_do_not(tmp_path: Path) -> None:
    store = Store.build(tmp_path / "train", EXAMPLES, bytes_pair(), key="k")
    assert store.source_text is None
    assert not list((tmp_path / "train").glob("*text*"))


def test_a_lone_surrogate_is_stored_as_the_tokeniser_reads_it(tmp_path: Path) -> None:
    store = Store.build(tmp_path / "s", [Example("\ud800", "a")], sampling_pair(), key="k")
    assert store.source_text is not None
    assert store.source_text[0] == "\ufffd"


def test_a_store_of_the_same_key_is_not_built_again(tmp_path: Path) -> None:
    Store.build(tmp_path / "train", EXAMPLES, bytes_pair(), key="k")
    store = Store.open_or_build(
        tmp_path / "train", lambda: pytest.fail("read the corpus"), bytes_pair(), key="k"
    )
    assert len(store) == len(EXAMPLES)


def test_a_stale_store_is_built_again(tmp_path: Path) -> None:
    Store.build(tmp_path / "train", EXAMPLES, bytes_pair(), key="old")
    store = Store.open_or_build(tmp_path / "train", lambda: EXAMPLES[:1], bytes_pair(), key="new")
    assert len(store) == 1
    assert os.listdir(tmp_path) == ["train"]


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


FILES = ["source.flat", "source.offsets", "target.flat", "target.offsets", "store.json"]


@pytest.mark.parametrize("damage", [truncated, flipped, Path.unlink])
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_store_is_named_and_built_again(
    name: str, damage: Callable[[Path], None], tmp_path: Path
) -> None:
    folder = tmp_path / "train"
    expected = ids(Store.build(folder, EXAMPLES, bytes_pair(), key="k"))
    damage(folder / name)
    with pytest.raises(DataError) as caught:
        Store.open(folder, key="k")
    # A checksum that was damaged speaks against the file it belongs to.
    accused = FILES if (name, damage) == ("store.json", flipped) else [name]
    assert str(caught.value).startswith(tuple(f"{folder / file}: " for file in accused))
    assert "\n" not in str(caught.value)
    assert ids(Store.open_or_build(folder, lambda: EXAMPLES, bytes_pair(), key="k")) == expected


@pytest.mark.parametrize("content", ["[]", "{}", '{"format": 99}', '{"format": 1, "key": "k"}'])
def test_an_index_that_is_not_ours_is_refused(content: str, tmp_path: Path) -> None:
    Store.build(tmp_path / "train", EXAMPLES, bytes_pair(), key="k")
    (tmp_path / "train" / "store.json").write_text(content)
    with pytest.raises(DataError, match=r"not a store of format 1; build the store again$"):
        Store.open(tmp_path / "train", key="k")


@pytest.mark.parametrize(
    ("key", "message"), [("other", "made from another corpus or tokeniser; build the store again")]
)
def test_a_stale_store_is_refused(key: str, message: str, tmp_path: Path) -> None:
    Store.build(tmp_path / "train", EXAMPLES, bytes_pair(), key="k")
    with pytest.raises(DataError, match=message):
        Store.open(tmp_path / "train", key=key)


def test_a_build_that_fails_leaves_the_old_store_and_nothing_else(tmp_path: Path) -> None:
    def failing() -> Iterator[Example]:
        yield EXAMPLES[0]
        raise OSError(28, "No space left on device")

    expected = ids(Store.build(tmp_path / "train", EXAMPLES, bytes_pair(), key="k"))
    with pytest.raises(DataError, match=r"cannot be written \(No space left on device\); make"):
        Store.build(tmp_path / "train", failing(), bytes_pair(), key="new")
    assert os.listdir(tmp_path) == ["train"]
    assert ids(Store.open(tmp_path / "train", key="k")) == expected


def test_the_key_follows_content_tokeniser_and_settings() -> None:
    nfkc = TokeniserPair(Bytes(normalise="nfkc"), Bytes(normalise="nfkc"))
    key = store_key(["a"], bytes_pair())
    assert store_key(["a"], bytes_pair()) == key
    others = {
        store_key(["b"], bytes_pair()),
        store_key(["a", "a"], bytes_pair()),
        store_key(["a"], nfkc),
        store_key(["a"], bytes_pair(), settings="max_ratio=3"),
        key,
    }
    assert len(others) == 5


def test_the_checksum_follows_content_alone(tmp_path: Path) -> None:
    first, copy, other = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    for path, text in ((first, "x\n"), (copy, "x\n"), (other, "y\n")):
        path.write_text(text)
    assert checksum(first) == checksum(copy) != checksum(other)


def test_what_a_killed_build_left_is_removed_by_the_next(tmp_path: Path) -> None:
    killed = subprocess.Popen([sys.executable, "-c", ""])
    killed.wait()
    for leftover in (f".train.{killed.pid}.tmp", f".train.old.{killed.pid}.tmp"):
        (tmp_path / leftover).mkdir()
    Store.build(tmp_path / "train", EXAMPLES, bytes_pair(), key="k")
    assert os.listdir(tmp_path) == ["train"]


def test_every_file_has_its_checksum_in_the_index(tmp_path: Path) -> None:
    Store.build(tmp_path / "train", EXAMPLES, sampling_pair(), key="k")
    index = json.loads((tmp_path / "train" / "store.json").read_text())
    assert {*index["files"], "store.json"} == set(os.listdir(tmp_path / "train"))


ROWS = st.lists(st.lists(st.integers(0, 70_000), max_size=5), max_size=5)


@given(st.lists(ROWS, min_size=1))
def test_joined_rows_are_the_rows_of_all_parts(parts: list[list[list[int]]]) -> None:
    joined = Rows.joined([Rows.of(part) for part in parts])
    expected = [row for part in parts for row in part]
    assert [joined[i].tolist() for i in range(len(joined))] == expected


@given(ROWS)
def test_rows_give_back_what_was_laid_out(rows: list[list[int]]) -> None:
    laid = Rows.of(rows)
    assert [laid[i].tolist() for i in range(len(laid))] == rows
    assert laid.lengths(np.arange(len(rows))).tolist() == [len(row) for row in rows]
