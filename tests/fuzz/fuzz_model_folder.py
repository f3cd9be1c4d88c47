"""Random files in the place of a model folder's own: only a RegardError may come out.

python tests/fuzz/fuzz_model_folder.py -max_total_time=600

The first byte of an input picks the file that the rest is the content of. atheris (libFuzzer)
changes the inputs so that ever more lines of the readers are reached. It needs `pip install
regard[fuzz]`; what it found became tests/hostile/test_found_by_fuzzing.py.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["regard", "tomllib"]):
    from regard.config import read_config, write_config
    from regard.convert.marian_config import read_config as read_marian_config
    from regard.convert.marian_config import read_decoding
    from regard.convert.marian_text import read_tokenisers
    from regard.errors import RegardError
    from regard.safetensors_header import parse_header, read_header
    from regard.sealed import MANIFEST, verify
    from regard.text.pair import INDEX, TokeniserPair

LIMITS = {"-max_total_time": "600", "-rss_limit_mb": "2048", "-timeout": "20", "-max_len": "8192"}
TEXTS = ["Jane visite l'Afrique.", "", " ▁ﬁ 漢字 🤷\x00", "a" * 300]


def run_file(content: bytes, folder: Path) -> None:
    """run.toml; whatever is accepted must come back as it was written."""
    (folder / "run.toml").write_bytes(content)
    config = read_config(folder / "run.toml")
    (folder / "run.toml").write_text(write_config(config), "utf-8")
    assert read_config(folder / "run.toml") == config


def manifest(content: bytes, folder: Path) -> None:
    if not (folder / "inner").exists():
        (folder / "inner").mkdir()
        (folder / "inner" / "empty").write_bytes(b"")
        (folder / "inner" / "ring").symlink_to("ring")
    (folder / MANIFEST).write_bytes(content)
    verify(folder)


def weights(content: bytes, folder: Path) -> None:
    """A whole safetensors file; what the header accepts, the library must read."""
    from safetensors.torch import load_file

    path = folder / "weights.safetensors"
    path.write_bytes(content)
    shapes = {name: entry.shape for name, entry in read_header(path).items()}
    assert {name: tuple(t.shape) for name, t in load_file(path).items()} == shapes


def header(content: bytes, folder: Path) -> None:
    """The header alone, its length always right, with as many numbers as it asks for."""
    try:
        entries = json.loads(content)
        num_data = max(entry["data_offsets"][1] for entry in entries.values())
        data = bytes(num_data if 0 <= num_data < 100_000 else 0)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        data = b""
    try:
        parse_header(content, len(data))
    except ValueError:
        return
    weights(len(content).to_bytes(8, "little") + content + data, folder)


def index(content: bytes, folder: Path) -> None:
    (folder / INDEX).write_bytes(content)
    (folder / "joint.json").write_bytes(b'["a", "b"]')
    use(TokeniserPair.load(folder))


def tokeniser(kind: str) -> Callable[[bytes, Path], None]:
    """The file of a tokeniser of a kind."""

    def read(content: bytes, folder: Path) -> None:
        settings = {"kind": kind, "joint": True, "sampling": 0.0, "normalise": "none"}
        (folder / INDEX).write_text(json.dumps(settings), "utf-8")
        name = "joint.model" if kind in ("bpe", "unigram") else "joint.json"
        (folder / name).write_bytes(content)
        use(TokeniserPair.load(folder))

    return read


def marian_config(content: bytes, folder: Path) -> None:
    (folder / "config.json").write_bytes(content)
    (folder / "generation_config.json").write_bytes(content)
    read_decoding(folder)
    config = read_marian_config(folder)
    config.transformer()


def marian_vocabulary(content: bytes, folder: Path) -> None:
    settings = {"model_type": "marian", "vocab_size": 3, "pad_token_id": 0, "eos_token_id": 1}
    settings["decoder_start_token_id"] = 0
    (folder / "config.json").write_text(json.dumps(settings), "utf-8")
    (folder / "vocab.json").write_bytes(content)
    (folder / "tokenizer_config.json").write_bytes(content)
    (folder / "source.spm").write_bytes(SENTENCEPIECES)
    (folder / "target.spm").write_bytes(SENTENCEPIECES)
    read_tokenisers(folder, read_marian_config(folder))


def use(tokenisers: TokeniserPair) -> None:
    """What was accepted must work."""
    for side in (tokenisers.source, tokenisers.target):
        for text in TEXTS:
            found = side.encode(text)
            assert list(found.ids) == side.encode_ids([text])[0]
            side.decode(found.ids)
        assert len(side) == len([side.piece(id) for id in range(len(side))])


TARGETS: list[Callable[[bytes, Path], None]] = [
    run_file,
    manifest,
    weights,
    header,
    index,
    tokeniser("words"),
    tokeniser("characters"),
    tokeniser("marian"),
    tokeniser("bpe"),
    marian_config,
    marian_vocabulary,
]


def one_input(data: bytes, folder: Path) -> None:
    """Give one input to the reader that its first byte picks."""
    if not data:
        return
    try:
        TARGETS[data[0] % len(TARGETS)](data[1:], folder)
    except RegardError as error:
        message = str(error)
    else:
        return
    assert "\n" not in message, "a message of several lines"
    assert len(message) < 2000, "a message of a whole file"


def seeds() -> list[bytes]:
    """A sound file for each target."""
    from safetensors.torch import save
    from torch import zeros

    from regard.config import RunConfig

    whole = save({"a": zeros(2, 3), "b.weight": zeros(4)}, {"format": "pt"})
    num_header = int.from_bytes(whole[:8], "little")
    sums = {"inner/empty": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}
    sealed = {"format": "regard", "version": 1, "sha256": sums}
    settings = {"kind": "words", "joint": True, "sampling": 0.0, "normalise": "none"}
    words = json.dumps([" a", " b", ".", "é"], ensure_ascii=False).encode()
    contents = [
        write_config(RunConfig()).encode(),
        json.dumps(sealed).encode(),
        whole,
        whole[8 : 8 + num_header],
        json.dumps(settings).encode(),
        words,
        words,
        MARIAN,
        SENTENCEPIECES,
        b'{"model_type": "marian", "vocab_size": 3, "num_beams": 4, "early_stopping": true}',
        b'{"<pad>": 0, "</s>": 1, "<unk>": 2}',
    ]
    names = ["../outside", "/etc/hostname", "a\0b", "x" * 300, "inner/ring", "inner"]
    odd = [json.dumps({**sealed, "sha256": {name: "0"}}).encode() for name in names]
    odd.append(b'{"format": "regard", "version": 1, "sha256": {"\\ud800": "0"}}')
    return [
        *(bytes([target]) + content for target, content in enumerate(contents)),
        *(bytes([TARGETS.index(manifest)]) + content for content in odd),
    ]


def sentencepiece_model() -> bytes:
    """As small a model of ours as there can be."""
    from regard.text.sentencepieces import SentencePieces

    return SentencePieces.train(["a b"] * 9, "bpe", vocab_size=270).to_bytes()


def marian_file() -> bytes:
    """The file of a tokeniser that was imported."""
    from regard.text.marian import MarianPieces, SpecialIds

    specials = SpecialIds(pad=0, unk=2, start=0, eos=1)
    return MarianPieces(SENTENCEPIECES, ["<pad>", "</s>", "<unk>", "▁a"], specials).to_bytes()


SENTENCEPIECES = sentencepiece_model()
MARIAN = marian_file()


def main() -> None:
    """Fuzz until the time is up or something is found."""
    given = sys.argv[1:]
    limits = [f"{k}={v}" for k, v in LIMITS.items() if not any(g.startswith(k) for g in given)]
    with tempfile.TemporaryDirectory() as place:
        corpus, folder = Path(place, "corpus"), Path(place, "folder")
        corpus.mkdir()
        folder.mkdir()
        for number, seed in enumerate(seeds()):
            (corpus / f"seed-{number}").write_bytes(seed)

        def target(data: bytes) -> None:
            for path in folder.iterdir():
                if path.is_file():
                    os.unlink(path)
            one_input(data, folder)

        atheris.Setup([sys.argv[0], *given, *limits, str(corpus)], target)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
