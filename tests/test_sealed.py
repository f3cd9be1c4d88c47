"""Sealed folders: whole or not at all, and every damage found."""

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard import sealed
from regard.errors import ModelFileError
from regard.sealed import (
    FORMAT_VERSION,
    MANIFEST,
    discard,
    remove_temporaries,
    sealing,
    verify,
)

FILES = {"weights.bin": bytes(range(256)), "inner/notes.txt": "déjà vu".encode(), "empty": b""}


def write_sealed(folder: Path, files: dict[str, bytes]) -> Path:
    with sealing(folder) as temporary:
        for name, content in files.items():
            path = temporary / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return folder


def edit_manifest(folder: Path, change: Callable[[dict[str, object]], None]) -> None:
    manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
    change(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest), "utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_sealed(tmp_path / "run", FILES)


# ------------------------------------------------------------------------------ whole or not at all


def test_what_was_sealed_is_there_and_verifies(folder: Path) -> None:
    verify(folder)
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES


def test_nothing_but_the_folder_appears(folder: Path) -> None:
    assert os.listdir(folder.parent) == ["run"]


def test_missing_parents_are_made(tmp_path: Path) -> None:
    verify(write_sealed(tmp_path / "a" / "b" / "run", FILES))


@pytest.mark.parametrize("error", [ValueError("bug"), KeyboardInterrupt()])
def test_an_exception_in_the_body_leaves_nothing(tmp_path: Path, error: BaseException) -> None:
    def write_half() -> None:
        with sealing(tmp_path / "run") as temporary:
            (temporary / "half").write_text("…", "utf-8")
            raise error

    with pytest.raises(type(error)):
        write_half()
    assert os.listdir(tmp_path) == []


def test_a_failing_disk_leaves_nothing_and_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("regard.sealed.os.fsync", fail)
    with pytest.raises(ModelFileError, match=r"run cannot be written \(No space left on device\)"):
        write_sealed(tmp_path / "run", FILES)
    assert os.listdir(tmp_path) == []


def test_a_failing_rename_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Path:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(ModelFileError, match="Input/output error"):
        write_sealed(tmp_path / "run", FILES)
    assert os.listdir(tmp_path) == []


def test_what_exists_is_never_touched(folder: Path) -> None:
    with (
        pytest.raises(ModelFileError, match="run exists already; remove it or choose another name"),
        sealing(folder),
    ):
        pass
    verify(folder)
    assert os.listdir(folder.parent) == ["run"]


def test_a_file_where_a_folder_should_be_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(ModelFileError, match=r"cannot be written \(Not a directory\)"):
        write_sealed(tmp_path / "file" / "run", FILES)


@pytest.mark.skipif(os.name == "nt", reason="Windows syncs no folders")
def test_files_are_synced_before_the_manifest_and_the_parent_after_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    sync = sealed._sync

    def spy(path: Path) -> None:
        synced.append(path.name)
        assert (tmp_path / "run").exists() == (path == tmp_path)
        sync(path)

    monkeypatch.setattr(sealed, "_sync", spy)
    write_sealed(tmp_path / "run", FILES)
    assert sorted(synced[:3]) == ["empty", "notes.txt", "weights.bin"]
    assert synced[3:5] == [MANIFEST, "inner"]
    assert synced[5].endswith(".tmp")
    assert synced[6:] == [tmp_path.name]


@pytest.fixture
def dead() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def leave(folder: Path, process: int) -> Path:
    """What a process with this number leaves when it is killed while it makes the folder."""
    leftover = folder.parent / f".{folder.name}.{process}.tmp"
    leftover.mkdir()
    (leftover / "half").write_text("…", "utf-8")
    return leftover


def test_leftovers_of_a_killed_process_are_removed(folder: Path, dead: int) -> None:
    leave(folder.parent / "step-5", dead)
    leave(folder.parent / "step-6", os.getpid())
    remove_temporaries(folder.parent)
    assert os.listdir(folder.parent) == ["run"]
    verify(folder)


def test_what_a_living_process_works_on_is_left_alone(folder: Path) -> None:
    leftover = leave(folder.parent / "step-5", os.getppid())
    remove_temporaries(folder.parent)
    assert leftover.exists()


def test_leftovers_of_another_folder_can_be_left_alone(folder: Path, dead: int) -> None:
    mine, other = leave(folder.parent / "mine", dead), leave(folder.parent / "other", dead)
    remove_temporaries(folder.parent, "mine")
    assert other.exists() and not mine.exists()


def test_what_only_looks_like_a_leftover_stays(folder: Path) -> None:
    for name in (".notes.tmp", "run.1.tmp", ".run.x1.tmp", ".run.1.tmp.old"):
        (folder.parent / name).mkdir()
    before = sorted(os.listdir(folder.parent))
    remove_temporaries(folder.parent)
    assert sorted(os.listdir(folder.parent)) == before


def test_sealing_removes_what_a_killed_process_left_of_the_same_folder(
    tmp_path: Path, dead: int
) -> None:
    leave(tmp_path / "run", dead)
    write_sealed(tmp_path / "run", FILES)
    assert os.listdir(tmp_path) == ["run"]


def test_a_discarded_folder_is_gone(folder: Path) -> None:
    discard(folder)
    assert os.listdir(folder.parent) == []


def test_a_folder_is_never_half_discarded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object, **__: object) -> None:
        if not folder.exists():
            raise KeyboardInterrupt

    monkeypatch.setattr("regard.sealed.shutil.rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        discard(folder)
    assert not folder.exists()
    assert len(os.listdir(folder.parent)) == 1


# ------------------------------------------------------------------------------ every damage found

names = st.sampled_from(sorted(name for name, content in FILES.items() if content))


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sealed(tmp_path_factory.mktemp("intact") / "run", FILES)


@given(name=names, data=st.data())
def test_every_flipped_bit_is_found_and_named(intact: Path, name: str, data: st.DataObject) -> None:
    content = bytearray(FILES[name])
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    (intact / name).write_bytes(content)
    try:
        with pytest.raises(ModelFileError, match=f"{name} is damaged"):
            verify(intact)
    finally:
        (intact / name).write_bytes(FILES[name])
    verify(intact)


@given(name=names, data=st.data())
def test_every_truncation_is_found_and_named(intact: Path, name: str, data: st.DataObject) -> None:
    (intact / name).write_bytes(FILES[name][: data.draw(st.integers(0, len(FILES[name]) - 1))])
    try:
        with pytest.raises(ModelFileError, match=f"{name} is damaged"):
            verify(intact)
    finally:
        (intact / name).write_bytes(FILES[name])


@given(data=st.data())
def test_a_damaged_manifest_never_verifies_other_files(intact: Path, data: st.DataObject) -> None:
    """A flip may fall on white space and change nothing; whatever passes says the same."""
    before = (intact / MANIFEST).read_bytes()
    content = bytearray(before)
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    (intact / MANIFEST).write_bytes(content)
    try:
        verify(intact)
    except ModelFileError:
        pass
    else:
        assert json.loads(content) == json.loads(before)
    finally:
        (intact / MANIFEST).write_bytes(before)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ModelFileError, match=f"{name} is missing"):
        verify(folder)


def test_swapped_files_are_found(folder: Path) -> None:
    shutil.copyfile(folder / "weights.bin", folder / "inner" / "notes.txt")
    with pytest.raises(ModelFileError, match=r"notes\.txt is damaged"):
        verify(folder)


@pytest.mark.parametrize("name", ["../outside", "inner/../../outside", "a\0b", "link"])
def test_a_manifest_may_not_name_what_is_outside(folder: Path, name: str) -> None:
    outside = folder.parent / "outside"
    outside.write_text("secret", "utf-8")
    (folder / "link").symlink_to(outside)
    edit_manifest(folder, lambda manifest: manifest.update(sha256={name: "0"}))
    with pytest.raises(ModelFileError, match="outside the folder"):
        verify(folder)


def test_a_manifest_may_not_name_an_absolute_path(folder: Path) -> None:
    edit_manifest(folder, lambda manifest: manifest.update(sha256={"/etc/hostname": "0"}))
    with pytest.raises(ModelFileError, match="names '/etc/hostname', outside the folder"):
        verify(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "manifest.json is damaged"),
        (b"{", "manifest.json is damaged"),
        (b"\xff", "manifest.json is damaged"),
        (b"[]", "manifest.json is damaged"),
        (b"{}", "manifest.json is damaged"),
        (b"[" * 100_000, "manifest.json is damaged"),
        (b'{"format": "regard", "version": 1, "sha256": []}', "its sha256 is not a table"),
        (
            b'{"format": "regard", "version": 2, "sha256": {}}',
            "format 'regard' version 2; this program reads 'regard' version 1",
        ),
        (b'{"format": "other", "version": 1, "sha256": {}}', "format 'other' version 1"),
    ],
)
def test_another_manifest_is_refused(folder: Path, content: bytes, message: str) -> None:
    assert FORMAT_VERSION == 1
    (folder / MANIFEST).write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        verify(folder)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_without_manifest_is_not_ours(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"no manifest\.json; this is not a run folder"):
        verify(tmp_path)
