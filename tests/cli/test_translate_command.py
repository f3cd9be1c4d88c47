"""`regard translate`, as it is typed: a line out for every line in."""

import builtins
import gzip
import io
import json
import os
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from regard.api import Translator
from regard.cli.app import main
from regard.data import lenient
from regard.translation import Translation

SENTENCE = "Jane visite l'Afrique en septembre."
HOSTILE = [
    SENTENCE.encode(),
    b"",
    b"   ",
    b"\x00\x01\x1b[31m\x7f",
    "un\u2028deux\u2029trois\x85quatre\x0bcinq\x0csix".encode(),
    b"caf\xe9 \xff\xfe",
    b"la gare " * 60,
    "🤷🏽‍♀️ 漢字 \ufeff ﷽".encode(),
    "Jane voit.\u2028Elle aime la gare.\x0bMon ami cherche.".encode(),
    b"\r",
]


def translate(run: Path, *options: str) -> int:
    """Greedily on the CPU, unless the options say something else."""
    defaults = {"--device": "cpu", "--beam": "1"}
    added = [word for pair in defaults.items() if pair[0] not in options for word in pair]
    return main(["translate", "--model", str(run), *added, *options])


def feed(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), "utf-8"))


def only_once(opened: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """A second reader of a pipe would wait for ever."""
    calls = iter([opened])
    return lambda path: next(calls)(path)


def test_a_text_is_translated(
    trained_run: Path, translator: Translator, capsys: pytest.CaptureFixture[str]
) -> None:
    assert translate(trained_run, SENTENCE) == 0
    assert capsys.readouterr() == (f"{translator.translate(SENTENCE, beam=1).text}\n", "")


@pytest.mark.parametrize("way", ["file", "gzipped", "stdin", "pipe"])
def test_there_is_a_line_out_for_every_line_in(
    trained_run: Path,
    translator: Translator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    way: str,
) -> None:
    content = b"".join(line + b"\n" for line in HOSTILE)
    path = tmp_path / "text"
    if way == "stdin":
        feed(monkeypatch, content)
        assert translate(trained_run) == 0
    elif way == "pipe":
        os.mkfifo(path)
        writer = threading.Thread(target=path.write_bytes, args=[content], daemon=True)
        writer.start()
        monkeypatch.setattr(lenient, "opened", only_once(lenient.opened))
        assert translate(trained_run, "--file", str(path)) == 0
        writer.join()
    else:
        path.write_bytes(gzip.compress(content) if way == "gzipped" else content)
        assert translate(trained_run, "--file", str(path)) == 0
    out, err = capsys.readouterr()
    lines = out.split("\n")
    assert len(lines) == len(HOSTILE) + 1
    assert lines == [*out.splitlines(), ""]
    assert lines[0] == translator.translate(SENTENCE, beam=1).text
    assert lines[1] == lines[2] == lines[-2] == ""
    assert err == (
        "regard: 3 characters that are not UTF-8 read as \ufffd; "
        "11 control characters read as a space or left out\n"
    )


def test_a_very_long_line_is_one_line(
    trained_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text").write_bytes(b"Jane voit un livre. " * 500 + b"\n" + SENTENCE.encode())
    lines: list[str] = []
    monkeypatch.setattr(builtins, "print", lambda line, **_: lines.append(line))
    assert translate(trained_run, "--file", str(tmp_path / "text")) == 0
    assert len(lines) == 2


def test_chunks_keep_the_order(
    trained_run: Path,
    translator: Translator,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(import_module("regard.cli.translate"), "CHUNK_LINES", 2)
    texts = ["Jane voit un livre.", "", SENTENCE, "elle aime la gare ici.", "mon ami voit."]
    feed(monkeypatch, "\n".join(texts).encode())
    assert translate(trained_run) == 0
    expected = [t.text for t in translator.translate(texts, beam=1)]
    assert capsys.readouterr().out.splitlines() == expected


def test_json_has_scores_pieces_and_alignment(
    trained_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    feed(monkeypatch, f"{SENTENCE}\n\n".encode())
    assert translate(trained_run, "--json", "--beam", "4", "--n-best", "2") == 0
    found, empty = map(json.loads, capsys.readouterr().out.splitlines())
    assert set(found) == {"source", "text", "score", "num_cut", "sentences"}
    (sentence,) = found["sentences"]
    assert set(sentence) == {
        "source",
        "text",
        "score",
        "log_probs",
        "source_pieces",
        "pieces",
        "source_words",
        "words",
        "alignment",
        "n_best",
    }
    assert len(sentence["log_probs"]) == len(sentence["pieces"]) + 1
    assert sentence["n_best"][0]["text"] == sentence["text"]
    assert len(sentence["n_best"]) == 2
    assert empty == {"source": "", "text": "", "score": 0.0, "num_cut": 0, "sentences": []}


@pytest.mark.parametrize("as_json", [False, True])
def test_what_a_model_writes_stays_on_one_line(
    trained_run: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    as_json: bool,
) -> None:
    written = "un\u2028deux\x85trois\x1b\nquatre\x7f"
    monkeypatch.setattr(
        Translator, "translate", lambda *_, **__: [Translation(SENTENCE, written, ())]
    )
    assert translate(trained_run, SENTENCE, *(["--json"] if as_json else [])) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.isprintable()
    assert json.loads(line)["text"] == written if as_json else line == "un deux trois quatre"


def test_a_text_that_is_not_utf_8_is_answered(
    trained_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert translate(trained_run, "caf\udce9", "--json") == 0
    assert json.loads(capsys.readouterr().out)["source"] == "caf\ufffd"


@pytest.mark.parametrize("end", ["", "  ", None])
def test_typed_lines_are_answered_until_an_empty_one(
    trained_run: Path,
    translator: Translator,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    end: str | None,
) -> None:
    typed = iter([SENTENCE, "elle aime la gare.", end, "never read"])

    def answer(prompt: str) -> str:
        line = next(typed)
        if line is None:
            raise EOFError
        return line

    feed(monkeypatch, b"")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(builtins, "input", answer)
    assert translate(trained_run) == 0
    out, err = capsys.readouterr()
    texts = [SENTENCE, "elle aime la gare."]
    assert out.splitlines() == [t.text for t in translator.translate(texts, beam=1)]
    assert err == "Type a sentence; an empty line or Ctrl-D ends.\n"


@pytest.mark.parametrize(
    ("given", "options"),
    [
        (["--beam", "3", "--alpha", "0.5"], {"beam": 3, "alpha": 0.5}),
        (["--beam", "3", "--penalty", "gnmt"], {"beam": 3, "penalty": "gnmt"}),
        (["--beam", "3", "--coverage", "0.4"], {"beam": 3, "coverage": 0.4}),
        (["--beam", "3", "--consensus", "0.5"], {"beam": 3, "consensus": 0.5}),
        (["--replace-unknown"], {"beam": 1, "replace_unknown": True}),
        (["--prefix", "my"], {"beam": 1, "prefix": "my"}),
        (["--whole-lines"], {"beam": 1, "split_sentences": False}),
        (
            ["--sample", "--temperature", "2", "--top-k", "9", "--top-p", "0.9", "--seed", "7"],
            {"sample": True, "temperature": 2.0, "top_k": 9, "top_p": 0.9, "seed": 7},
        ),
    ],
)
def test_options_reach_the_search(
    trained_run: Path,
    translator: Translator,
    capsys: pytest.CaptureFixture[str],
    given: list[str],
    options: dict[str, object],
) -> None:
    text = "Jane voit un livre. Elle aime la gare."
    assert translate(trained_run, text, "--json", *given) == 0
    expected = translator.translate(text, **options).to_json()
    assert json.loads(capsys.readouterr().out) == expected


def test_two_models_make_an_ensemble(
    trained_run: Path, translator: Translator, capsys: pytest.CaptureFixture[str]
) -> None:
    assert translate(trained_run, "--model", str(trained_run), SENTENCE) == 0
    assert capsys.readouterr().out.strip() == translator.translate(SENTENCE, beam=1).text


def test_damage_is_told_and_passed_over(
    copied_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("best-60", "averaged-60"):
        (copied_run / folder / "scores.json").unlink()
    assert translate(copied_run, SENTENCE) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    assert err.count("scores.json is missing; continuing from ") == err.count("\n") == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--file", "absent"], "absent cannot be read: No such file or directory"),
        (["x", "--checkpoint", "step-7"], "no checkpoint step-7; there are: best-60, averaged-60"),
        (["x", "--n-best", "9"], "n_best = 9 is more than beam = 1"),
        (["x", "--penalty", "none"], "decoding.penalty = 'none'"),
        (["x", "--device", "abacus"], "abacus"),
    ],
)
def test_a_mistake_is_answered_in_one_line(
    trained_run: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert translate(trained_run, *options) == 2
    out, err = capsys.readouterr()
    assert err.startswith("regard: ") and err.count("\n") == 1
    assert message in err
    assert out == ""


def test_a_damaged_gzip_file_is_one_line(
    trained_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(b"Jane voit.\n" * 99)[:-9])
    assert translate(trained_run, "--file", str(path)) == 2
    assert "is a damaged gzip file" in capsys.readouterr().err
