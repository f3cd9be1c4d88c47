"""`regard data`, as it is typed."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from regard.cli.app import main
from regard.data.check import Reading, check
from regard.data.corpus import read_pairs
from regard.data.phrasebook import phrasebook
from regard.text.config import TextConfig
from regard.text.train import train_tokenisers

GOOD = [(f"Le chat numéro {n} dort.", f"Cat number {n} sleeps.") for n in range(100)]
BAD = [("Un Ã©tÃ© chaud", "A hot summer"), GOOD[0], ("&quot;Oui&quot;", '"Yes"'), ("", "x")]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    write(tmp_path / "good.tsv", GOOD)
    write(tmp_path / "bad.tsv", [*GOOD, *BAD])
    return tmp_path


def write(path: Path, pairs: list[tuple[str, str]]) -> None:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")


def run(command: str) -> int:
    """The exit code of a command line."""
    return main(["data", *command.split()])


Printed = pytest.CaptureFixture[str]


def test_a_good_corpus_ends_with_0(capsys: Printed) -> None:
    assert run("check good.tsv") == 0
    assert "0 problems, 0 warnings, 0 notes" in capsys.readouterr().out


def test_warnings_are_shown_and_end_with_0(capsys: Printed) -> None:
    write(Path("bad.tsv"), [*GOOD, *BAD[1:]])
    assert run("check bad.tsv --max-ratio 9") == 0
    printed = capsys.readouterr().out
    assert "warning  train: repeated pairs, 1 (1.0 %)" in printed
    assert "101: Le chat numéro 0 dort. | Cat number 0 sleeps." in printed
    assert "→ regard data clean --unescape" in printed


def test_a_problem_ends_with_1(capsys: Printed) -> None:
    assert run("check good.tsv --test good.tsv") == 1
    assert "problem  test: pairs that are in train too, 100 (100.0 %)" in capsys.readouterr().out


def test_unequal_files_are_a_problem_with_both_numbers(capsys: Printed) -> None:
    Path("a").write_text("one\ntwo\n")
    Path("b").write_text("un\n")
    assert run("check a b") == 1
    assert "a has 2 lines, b has 1" in capsys.readouterr().out


def test_a_check_as_json_holds_the_whole_report(capsys: Printed) -> None:
    run("check bad.tsv --json")
    report = json.loads(capsys.readouterr().out)
    assert report["summaries"][0]["pairs"] == 103
    whats = {finding["what"] for finding in report["findings"]}
    assert {"repeated pairs", "empty on one side or both"} <= whats


def test_a_long_pair_is_shortened_on_both_sides(capsys: Printed) -> None:
    write(Path("long.tsv"), [*GOOD, ("&amp; " + "mot " * 40, "& " + "word " * 40)])
    run("check long.tsv")
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "101:" in line]
    assert line.count("…") == 2
    assert len(line) <= 100


def test_a_tokeniser_adds_unknown_pieces(folder: Path, capsys: Printed) -> None:
    sources, targets = zip(*GOOD, strict=True)
    tokenisers = train_tokenisers(TextConfig(kind="characters"), sources, targets)
    tokenisers.save(folder / "tokenisers")
    write(folder / "test.tsv", [("猫 猫", "cat")])
    run("check good.tsv --test test.tsv --tokeniser tokenisers")
    assert "source pieces unknown to the tokeniser, 2" in capsys.readouterr().out


def test_cleaning_drops_counts_and_writes(capsys: Printed) -> None:
    assert run("clean bad.tsv --out clean.fr clean.en --unescape") == 0
    printed = capsys.readouterr().out
    assert "clean.fr, clean.en: 101 of 104 pairs kept, 1 mended" in printed
    kept = [(pair.source, pair.target) for pair in read_pairs(["clean.fr", "clean.en"])]
    assert kept == [*GOOD, ('"Oui"', '"Yes"')]


def test_cleaning_as_json_gives_reasons(capsys: Printed) -> None:
    run("clean bad.tsv --out clean.jsonl --json")
    assert json.loads(capsys.readouterr().out) == {
        "read": 104,
        "kept": 101,
        "mended": 0,
        "dropped": {"empty": 1, "wrongly decoded": 1, "repeated": 1},
    }


def test_cleaning_against_several_held_out_corpora(capsys: Printed) -> None:
    write(Path("one.tsv"), GOOD[:3])
    Path("two.fr").write_text(f"{GOOD[7][0]}\n", "utf-8")
    Path("two.en").write_text("Something else.\n", "utf-8")
    run("clean good.tsv --held-out one.tsv two.fr two.en --out clean.tsv --json")
    assert json.loads(capsys.readouterr().out)["dropped"] == {"held out": 4}


def test_what_check_advises_is_a_command_that_helps(capsys: Printed) -> None:
    assert run("check bad.tsv") == 0
    assert "0 warnings" not in capsys.readouterr().out
    run("clean bad.tsv --out clean.tsv --unescape")
    assert run("check clean.tsv") == 0
    assert "0 problems, 0 warnings" in capsys.readouterr().out


def test_a_made_phrasebook_is_the_one_of_its_seed(capsys: Printed) -> None:
    assert run("make phrasebook --out made --size 480 --seed 3") == 0
    assert list(read_pairs(["made/test.fr", "made/test.en"])) == phrasebook(size=480, seed=3).test
    assert "train.fr, train.en  450 pairs" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["copy", "reverse", "sort"])
def test_a_toy_is_made_and_has_no_problem_but_its_nature(name: str, capsys: Printed) -> None:
    assert run(f"make {name} --out toy --size 480 --json") == 0
    made = json.loads(capsys.readouterr().out)["splits"]
    assert {split: entry["pairs"] for split, entry in made.items()} == {
        "train": 450,
        "valid": 10,
        "test": 20,
    }
    train = list(enumerate(read_pairs(made["train"]["files"]), start=1))
    findings = check(Reading("train", train)).findings
    assert {finding.what for finding in findings} <= {"source and target are the same"}


def put_multi30k(folder: Path) -> None:
    folder.mkdir()
    for split in ("train", "val", "test2016"):
        for language in ("en", "de"):
            content = f"A {split} in {language}.\n".encode()
            (folder / f"{split}.{language}.gz").write_bytes(gzip.compress(content))


def test_a_public_corpus_is_taken_from_a_folder_with_warnings(
    folder: Path, capsys: Printed
) -> None:
    put_multi30k(folder / "raw")
    assert run("get multi30k --from raw --pair de-en --out got") == 0
    assert Path("got/valid.de").read_text("utf-8") == "A val in de.\n"
    errors = capsys.readouterr().err
    assert errors.count("is not the published text (its SHA-256 differs)") == 6


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("check nothing.tsv", "nothing.tsv does not exist"),
        ("check good.txt", "a corpus is two parallel files, or one .tsv or .jsonl"),
        ("clean good.tsv --out good.tsv", "good.tsv exists already; --force writes over it"),
        ("make copy --out full", "full/valid.target exists already; --force writes over it"),
        ("make copy --out new --size 5", "size = 5 is too small for three splits"),
        ("get tatoeba --pair fr-de --out new", "no such language pair: fr-de; choose one of"),
        ("get tatoeba --pair fr-en --out new --from .", "train.en-fr.tsv does not exist"),
        ("get multi30k --pair en-de --out full2", "full2/train.en exists already"),
    ],
)
def test_a_mistake_is_one_line_and_ends_with_2(command: str, message: str, capsys: Printed) -> None:
    for taken in ("full/valid.target", "full2/train.en"):
        Path(taken).parent.mkdir(exist_ok=True)
        Path(taken).write_text("mine")
    assert run(command) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1


def test_a_corpus_is_spoilt_in_the_way_named(capsys: Printed) -> None:
    assert run("noise accents good.tsv --out noisy.fr noisy.en") == 0
    assert capsys.readouterr().out == "noisy.fr, noisy.en: 100 pairs, 100 of them spoilt\n"
    found = [(pair.source, pair.target) for pair in read_pairs(["noisy.fr", "noisy.en"])]
    assert found == [(source.replace("é", "e"), target) for source, target in GOOD]


def test_the_seed_decides_the_typos() -> None:
    for out, seed in (("a.tsv", 1), ("b.tsv", 1), ("c.tsv", 2)):
        assert run(f"noise typos good.tsv --out {out} --seed {seed}") == 0
    assert Path("a.tsv").read_bytes() == Path("b.tsv").read_bytes() != Path("c.tsv").read_bytes()


def test_joined_pairs_are_half_as_many(capsys: Printed) -> None:
    assert run("noise join good.tsv --out noisy.tsv") == 0
    assert "50 pairs, 50 of them spoilt" in capsys.readouterr().out


def test_force_writes_over() -> None:
    assert run("clean good.tsv --out good.tsv --force") == 0
    assert len(list(read_pairs(["good.tsv"]))) == len(GOOD)


def test_help_needs_neither_torch_nor_the_corpora() -> None:
    code = (
        "import sys; from regard.cli.data import app;"
        "app(['--help'], result_action='return_value');"
        "loaded = [name for name in sys.modules if name in ('torch', 'regard.data.phrasebook')];"
        "sys.exit(len(loaded))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, b"check" in done.stdout) == (0, True), done.stderr
