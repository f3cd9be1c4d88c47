"""Broken SentencePiece models are refused, and do not crash the library."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from regard.text.config import TextConfig
from tests.hostile.edits import refusal
from tests.hostile.small_run import put, write_run


@pytest.fixture(scope="session")
def bpe_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bpe")
    return write_run(place, TextConfig(kind="bpe", vocab_size=300))


BROKEN_MODELS = """
import random, sys
from regard.errors import ModelFileError
from regard.text.sentencepieces import SentencePieces
sound = open(sys.argv[1], "rb").read()
chosen = random.Random(0)
num_refused = 0
for number in range(400):
    model = bytearray(sound)
    if number % 4 == 0:
        model = bytearray(chosen.randbytes(chosen.randrange(500)))
    elif number % 4 == 1:
        del model[chosen.randrange(len(model)):]
    else:
        for _ in range(chosen.choice([1, 3, 30])):
            # Settings stand at the end, pieces before them.
            place = len(model) - 1 - chosen.randrange(chosen.choice([300, len(model)]))
            model[place] = chosen.randrange(256)
    try:
        tokeniser = SentencePieces(bytes(model), "bpe")
        assert tokeniser.encode("Jane voit \\u2581 \\U0001f937.").ids
    except ModelFileError:
        num_refused += 1
print(num_refused)
"""


def test_garbage_does_not_crash_sentencepiece(bpe_run: Path) -> None:
    """In a process of its own, which a crash of the C++ library would end."""
    done = subprocess.run(
        [sys.executable, "-c", BROKEN_MODELS, str(bpe_run / "tokeniser" / "joint.model")],
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert 200 < int(done.stdout) < 400


@pytest.mark.parametrize("written", [b"", b"garbage", b"\x80" * 1000, b"\0" * 1000])
def test_a_model_of_garbage_is_refused_in_one_line(
    bpe_run: Path, tmp_path: Path, written: bytes
) -> None:
    run = Path(shutil.copytree(bpe_run, tmp_path / "run"))
    put(run, "tokeniser/joint.model", written)
    assert "joint.model: " in refusal(run)
