"""`regard baseline`, as it is typed."""

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from regard.cli.app import main
from tests.little_corpus import write_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def folder(corpus: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    """A system of phrases."""
    out = tmp_path_factory.mktemp("systems") / "phrases"
    assert train(corpus, out) == 0
    return str(out)


def train(corpus: tuple[Path, Path], out: Path, *options: str) -> int:
    source, target = map(str, corpus)
    files = ["--source", source, "--target", target, "--out", str(out)]
    return main(["baseline", "train", *files, *options])


def test_a_text_is_translated(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baseline", "translate", folder, "Jane visite l'Afrique en septembre."]) == 0
    assert capsys.readouterr().out == "Jane visits Africa in September.\n"


def test_a_dictionary_translates_too(
    corpus: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(corpus, tmp_path / "words", "--kind", "dictionary") == 0
    assert main(["baseline", "translate", str(tmp_path / "words"), "Jane aime, elle voit."]) == 0
    assert capsys.readouterr().out == "Jane likes, she sees.\n"


def test_weights_are_tuned_where_there_is_something_to_tune_on(
    corpus: tuple[Path, Path], folder: str, tmp_path: Path
) -> None:
    valid = []
    for side, path in zip(("source", "target"), corpus, strict=True):
        few = tmp_path / path.name
        few.write_text("".join(path.read_text("utf-8").splitlines(True)[:2]), "utf-8")
        valid += [f"--valid-{side}", str(few)]
    assert train(corpus, tmp_path / "tuned", *valid) == 0
    index = json.loads((tmp_path / "tuned" / "system.json").read_text("utf-8"))
    assert index.keys() == {"kind", "weights", "search"}


def test_every_line_of_a_file_is_answered(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = tmp_path / "lines.fr"
    lines.write_bytes("elle aime la gare.\n\nJane\u0007 aime\n".encode() + b"\xff\n")
    assert main(["baseline", "translate", folder, "--file", str(lines)]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == ["she likes the station.", "", "Jane likes", "\ufffd"]
    assert "1 control characters" in printed.err


def test_standard_input_is_translated(
    folder: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"Jane aime\n")))
    assert main(["baseline", "translate", folder]) == 0
    assert capsys.readouterr().out == "Jane likes\n"


def test_a_program_gets_words_links_and_score(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["baseline", "translate", folder, "Jane aime un livre.", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["text"] == "Jane likes a book."
    assert found["target"] == ["Jane", "likes", "a", "book", "."]
    assert found["links"] == [[i, i] for i in range(5)]
    assert isinstance(found["score"], float)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--valid-source", "x"], "go together"),
        (["--kind", "dictionary", "--valid-source", "x", "--valid-target", "y"], "nothing to tune"),
        (["--kind", "oracle"], "oracle"),
    ],
)
def test_what_cannot_be_trained_is_said(
    corpus: tuple[Path, Path],
    tmp_path: Path,
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert train(corpus, tmp_path / "out", *options) == 2
    assert message in capsys.readouterr().err


def test_nothing_is_written_over(
    corpus: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(corpus, tmp_path) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["absent", "Jane"], "is not a folder"), (["absent", "Jane", "--file", "x"], "exclude")],
)
def test_what_cannot_be_translated_is_said(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["baseline", "translate", *arguments]) == 2
    assert message in capsys.readouterr().err
