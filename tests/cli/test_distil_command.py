"""`regard distil`, as it is typed."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from regard.api import Translator
from regard.api import load as loaded
from regard.build import build_trainer, create_run
from regard.cli.app import main
from regard.data.corpus import read_pairs
from regard.distillation import round_trips
from tests.little_corpus import little_run, sentences, turned, write_corpus

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


@pytest.fixture
def returning(desk: Path) -> Path:
    """A model of the opposite direction."""
    config = turned(little_run(write_corpus(desk), steps=60))
    run = create_run(desk / "returning", config)
    build_trainer(run).train()
    return run.folder


def test_what_comes_back_changed_is_left_out(returning: Path, capsys: Printed) -> None:
    assert distil("some.fr --out all.tsv --back returning --agreement 0") == 0
    assert capsys.readouterr().err == ""
    everything = pairs("all.tsv")
    assert [source for source, _ in everything] == [source for source, _ in PAIRS]
    sources, targets = zip(*everything, strict=True)
    scores = sorted(round_trips(loaded(returning), sources, targets, Path("kept")))
    assert scores[0] < scores[-1]
    assert distil(f"some.fr --out near.tsv --back returning --agreement {scores[-1]}") == 0
    assert 1 <= len(pairs("near.tsv")) < len(everything)
    assert "sources were left out: they came back changed too much" in capsys.readouterr().err
    assert not list(Path().glob("*.back")) and not list(Path().glob("*.tsv.kept"))


def test_where_nothing_comes_back_the_work_is_kept(
    returning: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    nothing = [0.0] * len(PAIRS)
    monkeypatch.setattr("regard.distillation.round_trips", lambda *_, **__: nothing)
    assert distil("some.fr --out new.tsv --back returning") == 2
    assert "no translation came back with a chrF of 50" in capsys.readouterr().err
    assert Path("new.tsv.kept").exists() and not Path("new.tsv").exists()


def test_sources_alone_are_translated_once_each() -> None:
    lines = [source for source, _ in PAIRS[:2] for _ in range(3)]
    Path("twice.fr").write_text("\n".join(lines) + "\n", "utf-8")
    assert distil("twice.fr --out new.tsv") == 0
    assert [source for source, _ in pairs("new.tsv")] == [source for source, _ in PAIRS[:2]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--back teacher", "--back teacher translates fr → en; expected en → fr, the opposite"),
        ("--back teacher --agreement 101", "--agreement 101 is no chrF"),
        ("--agreement 40", "give a model for that with --back"),
        ("--back nowhere", "nowhere"),
    ],
)
def test_a_way_back_that_is_none_is_refused_before_anything_is_translated(
    arguments: str, message: str, capsys: Printed
) -> None:
    assert distil(f"some.fr --out new.tsv {arguments}") == 2
    assert message in capsys.readouterr().err
    assert not Path("new.tsv.kept").exists()
