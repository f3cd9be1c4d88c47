"""Damage by accident: every flipped bit and every lost end is found, and the file is named.

Who finds it: `sealed.verify`, by the SHA-256 in the manifest of the folder that the file is in,
or, for a manifest itself, by reading it and by the checksums it no longer has right. `log.jsonl`
and `cache/` are not sealed: the log is for people, and the store of ids has checksums of its own
(tests/data/test_store.py).
"""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.api import load
from regard.build import CACHE, build_trainer, open_run
from regard.errors import ModelFileError
from regard.sealed import MANIFEST, verify
from tests.hostile.small_run import CHECKPOINTS

NUM_FLIPS = 1000
NUM_CUTS = 200

Damage = Callable[[bytes, random.Random], bytes]


def flipped(content: bytes, chosen: random.Random) -> bytes:
    damaged = bytearray(content)
    damaged[chosen.randrange(len(content))] ^= 1 << chosen.randrange(8)
    return bytes(damaged)


def shortened(content: bytes, chosen: random.Random) -> bytes:
    # A manifest without its last line feed says the same.
    return content[: chosen.randrange(len(content) - 1)]


def files_of(run: Path) -> list[Path]:
    return sorted(path for path in run.rglob("*") if path.is_file() and path.stat().st_size > 1)


def examine(run: Path) -> None:
    """Read everything that translating and resuming trust."""
    open_run(run)
    for name in CHECKPOINTS:
        if (run / name).exists():
            verify(run / name)


def undetected(run: Path, damage: Damage, times: int) -> list[str]:
    """Damage every file by turns, and list what was not found or not named."""
    chosen = random.Random(times)
    files = files_of(run)
    missed = []
    for turn in range(times):
        path = files[turn % len(files)]
        sound = path.read_bytes()
        path.write_bytes(damage(sound, chosen))
        try:
            examine(run)
        except ModelFileError as error:
            folder = run if path.parent == run / "tokeniser" else path.parent
            name = path.relative_to(folder).as_posix()
            is_named = str(error).startswith(f"{folder}: ") and (
                f"{name} is damaged" in str(error) or path.name == MANIFEST
            )
            if not is_named:
                missed.append(f"{path} is not named: {error}")
        else:
            missed.append(f"{path}: turn {turn}")
        finally:
            path.write_bytes(sound)
    examine(run)
    return missed


@pytest.mark.parametrize(
    ("damage", "times"), [(flipped, NUM_FLIPS), (shortened, NUM_CUTS)], ids=["flips", "cuts"]
)
def test_all_damage_is_found_and_named(run: Path, damage: Damage, times: int) -> None:
    assert len(files_of(run)) >= 10
    assert undetected(run, damage, times) == []


def test_damage_in_the_cache_is_mended_and_changes_nothing(run: Path) -> None:
    chosen = random.Random(0)
    first = list(build_trainer(open_run(run)).batches.epoch(0))
    for path in files_of(run / CACHE):
        for damage in (flipped, shortened):
            sound = path.read_bytes()
            path.write_bytes(damage(sound, chosen))
            again = list(build_trainer(open_run(run)).batches.epoch(0))
            assert [b.source.tolist() for b in again] == [b.source.tolist() for b in first]
            assert path.read_bytes() == sound


def test_a_damaged_log_does_not_keep_a_model_from_translating(run: Path) -> None:
    (run / "log.jsonl").write_bytes(b'{"step": 1, "lo\xff\x00')
    assert load(run, device="cpu").translate("Jane voit un livre.").sentences
