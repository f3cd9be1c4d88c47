"""`regard distil`, as it is typed."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from regard.api import Translator
from regard.api import load as loaded
from regard.cli.app import main
from regard.data.corpus import read_pairs
from tests.little_corpus import sentences

Printed = pytest.CaptureFixture[str]
PAIRS = sentences()[::30]


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trained_run: Path) -> Path:
    """A folder with a corpus in several layouts, and a teacher."""
    monkeypatch.chdir(tmp_path)
    Path("some.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in PAIRS), "utf-8")
    Path("some.fr").write_text("".join(f"{s}\n\n" for s, _ in PAIRS), "utf-8")
    Path("some.en").write_text("".join(f"{t}\n\n" for _, t in PAIRS), "utf-8")
    shutil.copytree(trained_run, "teacher")
    return tmp_path


def distil(arguments: str) -> int:
    return main(["distil", "--model", "teacher", "--device", "cpu", *arguments.split()])


def pairs(*files: str) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read_pairs(files)]


@pytest.mark.parametrize("corpus", ["some.tsv", "some.fr some.en", "some.fr"])
def test_every_layout_gives_the_same_pairs(corpus: str, capsys: Printed) -> None:
    assert distil(f"{corpus} --out to/new.fr to/new.en") == 0
    found = pairs("to/new.fr", "to/new.en")
    assert [source for source, _ in found] == [source for source, _ in PAIRS]
    assert all(target for _, target in found)
    assert capsys.readouterr().out == (
        "to/new.fr, to/new.en: 7 pairs, 7 of them translated by the teacher\n"
    )
    assert sorted(path.name for path in Path("to").iterdir()) == ["new.en", "new.fr"]


def test_the_originals_come_first_if_they_are_kept(capsys: Printed) -> None:
    assert distil("some.tsv --out new.tsv --beam 2") == 0
    assert distil("some.tsv --out both.tsv --beam 2 --with-original") == 0
    assert pairs("both.tsv") == PAIRS + pairs("new.tsv")
    assert "both.tsv: 14 pairs, 7 of them translated" in capsys.readouterr().out


def test_a_student_learns_from_what_an_ensemble_wrote() -> None:
    corpus = "--out new.fr new.en --nearest chrf --beam 3"
    assert distil(f"--model teacher some.fr some.en {corpus}") == 0
    settings = ("steps=2", "validate_every=2", "validate_bleu=false", "show=0", "device=cpu")
    train = [f"--set=train.{setting}" for setting in settings]
    student = ["train", "--source", "new.fr", "--target", "new.en", "--out", "student"]
    assert main([*student, "--preset=nano", "--set=data.valid_size=1", *train]) == 0


def test_what_is_too_long_is_left_out_and_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    def load(*folders: Any, **options: Any) -> Translator:
        teacher = loaded(*folders, **options)
        teacher.max_pieces = 30
        return teacher

    monkeypatch.setattr("regard.api.load", load)
    with Path("some.tsv").open("a", encoding="utf-8") as file:
        file.write(f"{'bon ' * 40}\t{'good ' * 40}\n")
    assert distil("some.tsv --out new.tsv") == 0
    printed = capsys.readouterr()
    assert "new.tsv: 7 pairs" in printed.out
    assert printed.err == "regard: 1 sources were left out: too long, or no translation\n"


def test_an_interrupted_command_goes_on(monkeypatch: pytest.MonkeyPatch, capsys: Printed) -> None:
    assert distil("some.tsv --out unbroken.tsv") == 0
    monkeypatch.setattr("regard.distillation.CHUNK", 3)
    with monkeypatch.context() as patch:

        def interrupted(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        patch.setattr("regard.data.corpus.write_pairs", interrupted)
        assert distil("some.tsv --out new.tsv") == 130
    assert Path("new.tsv.kept").exists()
    assert distil("some.tsv --out new.tsv") == 0
    assert Path("new.tsv").read_bytes() == Path("unbroken.tsv").read_bytes()
    assert not Path("new.tsv.kept").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("some.tsv --out some.tsv", "some.tsv exists already; --force writes over it"),
        ("some.tsv --out new", "a corpus is two parallel files, or one .tsv or .jsonl"),
        ("--out new.tsv", "a corpus is two parallel files, or one .tsv or .jsonl"),
        ("none.fr --out new.tsv", "none.fr does not exist"),
        ("empty.fr --out new.tsv", "empty.fr: no sentence to translate"),
        ("some.fr --out new.tsv --with-original", "--nearest and --with-original need references"),
        ("some.fr --out new.tsv --nearest bleu", "--nearest and --with-original need references"),
        ("some.tsv --out new.tsv --nearest bleu --beam 1", "take a beam of 2 or more"),
        ("some.tsv --out new.tsv --beam 0", "decoding.beam = 0: input should be greater than 0"),
    ],
)
def test_a_mistake_is_one_line_and_ends_with_2(
    arguments: str, message: str, capsys: Printed
) -> None:
    Path("empty.fr").write_text("\n \n", "utf-8")
    assert distil(arguments) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1


def test_what_comes_back_changed_is_left_out(capsys: Printed) -> None:
    assert distil("some.fr --out all.tsv") == 0
    (first, _), *_ = found = pairs("all.tsv")
    shutil.copytree("teacher", "returning")
    assert distil("some.fr --out none.tsv --back returning --agreement 100") == 0
    assert "7 sources were left out: they came back changed too much" in capsys.readouterr().err
    assert distil("some.fr --out same.tsv --back returning --agreement 0") == 0
    assert pairs("same.tsv") == found and first == PAIRS[0][0]
    assert not list(Path().glob("*.back")) and not list(Path().glob("*.kept"))


def test_sources_alone_are_translated_once_each() -> None:
    lines = [source for source, _ in PAIRS[:2] for _ in range(3)]
    Path("twice.fr").write_text("\n".join(lines) + "\n", "utf-8")
    assert distil("twice.fr --out new.tsv") == 0
    assert [source for source, _ in pairs("new.tsv")] == [source for source, _ in PAIRS[:2]]


def test_an_agreement_that_is_no_score_is_refused(capsys: Printed) -> None:
    assert distil("some.fr --out new.tsv --back teacher --agreement 101") == 2
    assert "--agreement 101 is no chrF" in capsys.readouterr().err
