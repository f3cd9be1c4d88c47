"""Model folders that mean harm: refused in one line, in bounded memory, and nothing of them runs.

Every manifest here is true of its folder: checksums guard against accidents, not against people.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from regard.api import load
from regard.cli.app import main
from regard.errors import ModelFileError
from regard.safetensors_header import MAX_HEADER_BYTES, MAX_TENSORS
from regard.train.checkpoint import read_scores, save_weights
from regard.train.progress import Scores
from tests.hostile.edits import (
    INDEX,
    RUN_FILE,
    WEIGHTS,
    WORDS,
    Edit,
    content,
    empty,
    header,
    refusal,
    setting,
    sparse,
    tensors,
    words,
)
from tests.hostile.small_run import change


def test_the_sound_folder_is_not_refused(run: Path) -> None:
    change(run, lambda folder: None)
    assert load(run, device="cpu").translate("Jane voit un livre.").sentences


# ------------------------------------------------------------------------------ bounded memory

BILLION = 10**9
GREEDY: dict[str, tuple[Edit, str]] = {
    "a billion wide": (setting("model", "d_model", BILLION), "model.d_model = 1000000000: input"),
    "65,536 wide": (setting("model", "d_model", 65_536), "describes [65536]"),
    "a billion layers": (setting("model", "encoder_layers", BILLION), "model.encoder_layers = 100"),
    "500 layers": (setting("model", "decoder_layers", 500), "tensor 'decoder.layers.1.cross_att"),
    "a billion heads": (setting("model", "heads", BILLION), "model.heads = 1000000000: input"),
    "a billion hidden": (setting("model", "d_ff", BILLION), "model.d_ff = 1000000000: input"),
    "a billion positions": (setting("model", "max_positions", BILLION), "model.max_positions = 1"),
    "a beam of a billion": (setting("decoding", "beam", BILLION), "decoding.beam = 1000000000"),
    "endless targets": (setting("decoding", "max_ratio", "inf"), "decoding.max_ratio = inf"),
    "a million pieces": (
        words(999_000),
        "'source.embedding.weight' has shape [40, 8], run.toml describes [999004, 8]",
    ),
    "two million pieces": (words(2_000_000), "joint.json: 2,000,000 pieces; 1,000,000 are the"),
    "an oversized header": (
        content(
            WEIGHTS, (MAX_HEADER_BYTES + 1).to_bytes(8, "little") + b"{" * MAX_HEADER_BYTES * 2
        ),
        f"a header of {MAX_HEADER_BYTES + 1:,} bytes; {MAX_HEADER_BYTES:,} are the most",
    ),
    "a header beyond the file": (
        content(WEIGHTS, (2**62).to_bytes(8, "little") + b"{}"),
        "a header of 4,611,686,018,427,387,904 bytes in a file of 10",
    ),
    "a million empty tensors": (header({f"{n}": empty() for n in range(10**6)}), "are the most"),
    "60,000 empty tensors": (
        header({f"{n}": empty() for n in range(60_000)}),
        f"60,000 tensors; {MAX_TENSORS:,} are the most",
    ),
    "a shape that overflows": (
        header({"a": empty(2**62, 2**62)}),
        "tensor 'a' has 0 bytes, F32 [4611686018427387904, 4611686018427387904] needs",
    ),
    "a tensor of nothing, 4 billion wide": (
        header({"source.embedding.weight": empty(2**32, 0)}),
        "is missing",
    ),
    "an endless tokeniser": (
        sparse(WORDS, 2**27),
        "joint.json: 134,217,728 bytes; such a file has 64,000,000 at most",
    ),
    "an endless run file": (sparse(RUN_FILE, 2**27), "run.toml: 134,217,728 bytes"),
    "dots": (content(RUN_FILE, b"a." * 100_000 + b"a = 1"), "line 1 has more than 50 full stops"),
}

# Importing torch takes 0.7 GB of address space; these folders ask for 2 and far more.
ADDRESS_SPACE = 1_600_000_000
LOAD_THEM = """
import json, resource, sys
from regard.api import load
from regard.errors import ModelFileError, RegardError
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
found = {}
for folder in sys.argv[2:]:
    try:
        load(folder, device="cpu")
    except RegardError as error:
        found[folder] = str(error)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def refusals(sound_run: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said of each greedy folder by one process that may not have much memory."""
    place = tmp_path_factory.mktemp("greedy")
    folders = {}
    for name, (edit, _) in GREEDY.items():
        folders[name] = str(shutil.copytree(sound_run, place / name))
        change(Path(folders[name]), edit)
    done = subprocess.run(
        [sys.executable, "-c", LOAD_THEM, str(ADDRESS_SPACE), *folders.values()],
        capture_output=True,
        check=True,
        timeout=300,  # a guard alone: it takes seconds
    )
    found = json.loads(done.stdout)
    return {name: found.get(folder, "") for name, folder in folders.items()}


@pytest.mark.parametrize("name", GREEDY)
def test_a_greedy_folder_is_refused_in_little_memory(refusals: dict[str, str], name: str) -> None:
    assert GREEDY[name][1] in refusals[name]
    assert "\n" not in refusals[name]


# ------------------------------------------------------------------------------ contents

DEEP = b"[" * 100_000
REFUSED: dict[str, tuple[Edit, str]] = {
    "another shape": (
        tensors(lambda t: t.update({"encoder.layers.0.residuals.0.norm.bias": torch.zeros(7)})),
        "'encoder.layers.0.residuals.0.norm.bias' has shape [7], run.toml describes [8]",
    ),
    "a shape turned": (
        tensors(lambda t: t.update({k: v.T.contiguous() for k, v in t.items() if k == EMBEDDING})),
        "'source.embedding.weight' has shape [8, 40], run.toml describes [40, 8]",
    ),
    "a tensor missing": (tensors(lambda t: t.popitem()), "is missing"),
    "a tensor more": (
        tensors(lambda t: t.update(extra=torch.zeros(1))),
        "tensor 'extra' is not part of the model that run.toml describes",
    ),
    "a name of many lines": (
        tensors(lambda t: t.update({"a\n\x1b[31m" * 99: torch.zeros(1)})),
        "tensor 'a\\n\\x1b[31ma",
    ),
    "an overlap": (
        header({n: {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]} for n in "ab"}, b"1234"),
        "tensor 'b' overlaps the tensor before it, at byte 0",
    ),
    "a wrong type": (setting("model", "d_model", '"8"x'), "run.toml: not TOML"),
    "a list for a number": (setting("model", "d_model", "[8]"), "model.d_model = [8]: input sho"),
    "true for a number": (setting("model", "heads", "true"), "model.heads = True: expected no tr"),
    "a misspelt key": (
        setting("model", "d_model", "8\nhaeds = 2"),
        "unknown key model.haeds; did you mean model.heads?",
    ),
    "a number of 5,000 digits": (setting("model", "d_ff", "9" * 5000), "run.toml: not TOML: Exc"),
    "a deep run file": (content(RUN_FILE, b"a = " + DEEP), "run.toml: not TOML: nested too deeply"),
    "a run file in Latin-1": (content(RUN_FILE, "é".encode("latin-1")), "byte 1 is not UTF-8"),
    "no run file": (lambda run: (run / RUN_FILE).unlink(), "run.toml: cannot be read"),
    "no tokeniser": (lambda run: shutil.rmtree(run / "tokeniser"), "tokeniser.json: not found"),
    "a deep index": (content(INDEX, DEEP), "tokeniser.json: Invalid JSON"),
    "an index of another kind": (
        content(INDEX, b'{"kind": "pickle", "joint": true, "sampling": 0, "normalise": "none"}'),
        "tokeniser.json: kind: Input should be",
    ),
    "an index of wrong types": (
        content(INDEX, b'{"kind": "words", "joint": 1, "sampling": 0.0, "normalise": "none"}'),
        "tokeniser.json: joint: Input should be a valid boolean",
    ),
    "deep words": (content(WORDS, DEEP), "joint.json: not JSON (nested too deeply)"),
    "a table of words": (content(WORDS, b"{}"), "joint.json: not a JSON list of pieces"),
    "words that are numbers": (content(WORDS, b'["a", 1]'), "joint.json: not a JSON list of piec"),
    "an empty word": (content(WORDS, b'["a", ""]'), "joint.json: not a JSON list of pieces"),
    "a word with two ids": (
        content(WORDS, b'["a", "b", "a"]'),
        "joint.json: the piece 'a' stands in the vocabulary twice",
    ),
    "half a character": (content(WORDS, b'["\\ud800"]'), "joint.json: not JSON (it spells a lone"),
}
EMBEDDING = "source.embedding.weight"


@pytest.mark.parametrize(("edit", "message"), REFUSED.values(), ids=REFUSED)
def test_a_file_with_other_contents_is_refused_in_one_line(
    run: Path, edit: Edit, message: str
) -> None:
    change(run, edit)
    assert message in refusal(run)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (b"[]", "scores.json: it: "),
        (b'{"step": 1}', "scores.json: loss: Field required"),
        (b'{"step": 1, "loss": "low"}', "scores.json: loss: Input should be a valid number"),
        (b'{"step": 1, "loss": 1.0, "bleu": []}', "scores.json: bleu: Input should be a valid"),
        (DEEP, "scores.json: it: Invalid JSON"),
    ],
)
def test_scores_that_are_none_are_refused(run: Path, written: bytes, message: str) -> None:
    (run / "best-20" / "scores.json").write_bytes(written)
    with pytest.raises(ModelFileError) as caught:
        read_scores(run / "best-20")
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_checkpoints_without_the_score_they_are_compared_by_are_refused(run: Path) -> None:
    save_weights(run / "averaged-40", load_file(run / WEIGHTS), Scores(40, 1.0, None))
    change(run, setting("train", "stop_on", '"bleu"'))
    assert "averaged-40: no BLEU to compare it by" in refusal(run)


@pytest.mark.parametrize("command", ["translate", "look", "info", "convert"])
def test_every_command_refuses_with_one_line_and_exit_code_2(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    change(run, setting("model", "d_model", BILLION))
    arguments = {
        "translate": ["hello", "--model", str(run)],
        "look": ["hello", "--model", str(run)],
        "info": [str(run)],
        "convert": [str(run), str(tmp_path / "out"), "--to", "marian"],
    }
    assert main([command, *arguments[command]]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("regard: ") and err.count("\n") == 1
