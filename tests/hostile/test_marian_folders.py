"""Marian folders that mean harm: `regard convert` refuses them in one line, exit code 2."""

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save

from regard.cli.app import main
from regard.convert.marian import write_marian
from tests.convert.parcels import learned_tokenisers, random_parcel

WEIGHTS, CONFIG, VOCABULARY = "model.safetensors", "config.json", "vocab.json"
DEEP = b"[" * 100_000
NORM = "model.encoder.layers.0.final_layer_norm.bias"

Edit = Callable[[Path], object]


class Bomb:
    """Unpickling it makes a folder where the tests run."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("exploded",)


def content(name: str, written: bytes) -> Edit:
    return lambda folder: (folder / name).write_bytes(written)


def settings(name: str, **changes: Any) -> Edit:
    """Change some values of a JSON file."""

    def edit(folder: Path) -> None:
        before = json.loads((folder / name).read_text("utf-8"))
        (folder / name).write_text(json.dumps({**before, **changes}), "utf-8")

    return edit


def header(entries: dict[str, Any]) -> Edit:
    written = json.dumps(entries).encode()
    return content(WEIGHTS, len(written).to_bytes(8, "little") + written)


def empty(*shape: int) -> dict[str, Any]:
    return {"dtype": "F32", "shape": shape or [0], "data_offsets": [0, 0]}


def only_a_pickle(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb()))


def turned(folder: Path) -> None:
    held = load_file(folder / WEIGHTS)
    (folder / WEIGHTS).write_bytes(save({**held, NORM: torch.zeros(7)}))


REFUSED: dict[str, tuple[Edit, str]] = {
    "only a pickle": (
        only_a_pickle,
        "pytorch_model.bin is a pickle, which may run any program; write model.safetensors with "
        "transformers: MarianMTModel.from_pretrained(DIR).save_pretrained(DIR)",
    ),
    "a pickle as weights": (content(WEIGHTS, pickle.dumps(Bomb())), "not a readable safetensors"),
    "a pickle as config": (content(CONFIG, pickle.dumps(Bomb())), "config.json: not readable JSON"),
    "a pickle as vocabulary": (content(VOCABULARY, pickle.dumps(Bomb())), "vocab.json: not reada"),
    "a pickle as SentencePiece": (content("source.spm", pickle.dumps(Bomb())), "source.spm: not a"),
    "an oversized header": (
        content(WEIGHTS, (9_000_000).to_bytes(8, "little") + b" " * 9_000_000),
        "8,000,000 are the most",
    ),
    "a million empty tensors": (header({f"{n}": empty() for n in range(10**6)}), "are the most"),
    "a shape that overflows": (header({"a": empty(2**62, 4)}), "tensor 'a' has 0 bytes, F32"),
    "another shape": (turned, f"tensor {NORM!r} has shape [7], config.json describes [24]"),
    "2 ** 24 wide": (
        settings(CONFIG, d_model=3 * 2**22),
        "config.json describes",
    ),
    "2 ** 25 wide": (settings(CONFIG, d_model=2**25), "config.json: d_model = 33554432: Input"),
    "many layers": (settings(CONFIG, encoder_layers=2**24), "too few for the 16,777,218 layers"),
    "a deep config": (content(CONFIG, DEEP), "config.json: not readable JSON (nested too deeply)"),
    "a key twice": (content(CONFIG, b'{"a": 1, "a": 2}'), "'a' stands twice in one object"),
    "a wrong type": (settings(CONFIG, d_model="wide"), "config.json: d_model = 'wide': Input shou"),
    "a long wrong type": (settings(CONFIG, d_model="w" * 10**6), "config.json: d_model = 'wwwww"),
    "a deep vocabulary": (content(VOCABULARY, DEEP), "vocab.json: not readable JSON (nested too"),
    "half a character": (
        content(VOCABULARY, b'{"\\ud800": 0}'),
        "vocab.json: not readable JSON (it spells a lone surrogate",
    ),
    "an end that is padding": (settings(CONFIG, eos_token_id=0), "id 0 is both the end and paddi"),
    "a language that is none": (
        settings("tokenizer_config.json", source_lang=["fr"]),
        "tokenizer_config.json: source_lang = ['fr']: expected a string",
    ),
    "a beam of a million": (
        settings("generation_config.json", num_beams=10**6),
        "generation_config.json: num_beams = 1000000: Input should be less",
    ),
    "an endless length penalty": (
        content("generation_config.json", b'{"length_penalty": 1e999}'),
        "generation_config.json: length_penalty = inf",
    ),
    "SentencePiece garbage": (content("source.spm", b"\x80" * 999), "source.spm: not a Sentence"),
}


@pytest.fixture(scope="module")
def tokenisers() -> Any:
    return learned_tokenisers()


@pytest.mark.parametrize(("edit", "message"), REFUSED.values(), ids=REFUSED)
def test_a_hostile_folder_is_refused_in_one_line_and_nothing_of_it_runs(
    tokenisers: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    edit: Edit,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_marian(random_parcel(tokenisers, decoder_layers=2), tmp_path / "marian")
    edit(tmp_path / "marian")
    assert main(["convert", "marian", "run", "--to", "regard"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("regard: ") and err.count("\n") == 1
    assert message in err and len(err) < 1000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["marian"]


def test_links_are_followed_as_a_download_cache_has_them(
    tokenisers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_marian(random_parcel(tokenisers), tmp_path / "blobs")
    (tmp_path / "snapshot").mkdir()
    for path in (tmp_path / "blobs").iterdir():
        (tmp_path / "snapshot" / path.name).symlink_to(path)
    assert main(["convert", "snapshot", "run", "--to", "regard"]) == 0
