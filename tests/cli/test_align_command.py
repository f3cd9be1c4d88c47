"""`regard align`, as it is typed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.align.lexicon import Lexicon
from regard.align.pharaoh import read_links, write_links
from regard.cli.app import main
from tests.align.toy_corpora import ToyCorpus, make_corpus, reversed_order

Read = Callable[..., list[str]]

CORPUS = make_corpus(150, reversed_order, seed=1)


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """--source and --target: a toy corpus, words in mixed case."""
    source = write_lines(tmp_path / "s.txt", [" ".join(words) for words in CORPUS.sources])
    target = write_lines(tmp_path / "t.txt", [" ".join(words) for words in CORPUS.targets])
    return ["--source", str(source), "--target", str(target)]


@pytest.fixture
def gold(tmp_path: Path) -> str:
    return str(write_lines(tmp_path / "gold.txt", [write_links(links) for links in CORPUS.links]))


def align(*options: str) -> int:
    return main(["align", "--device", "cpu", *options])


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def report_of(capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    report: dict[str, float] = json.loads(capsys.readouterr().out)
    return report


def test_there_is_a_line_for_every_pair(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert align(*files) == 0
    found = [read_links(line) for line in lines_of(capsys)]
    right = sum(a == b for a, b in zip(found, CORPUS.links, strict=True))
    assert right > 0.9 * len(CORPUS.links)


def test_a_file_holds_what_would_be_printed(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert align(*files) == 0
    printed = lines_of(capsys)
    assert align(*files, "--out", str(tmp_path / "links.txt")) == 0
    assert lines_of(capsys) == []
    assert (tmp_path / "links.txt").read_text("utf-8").splitlines() == printed


def test_empty_lines_stay_in_their_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_lines(tmp_path / "s.txt", ["le chat", "", "le tapis", "chat"])
    target = write_lines(tmp_path / "t.txt", ["the cat", "the", "", "cat"])
    assert align("--source", str(source), "--target", str(target)) == 0
    printed = lines_of(capsys)
    assert [bool(line) for line in printed] == [True, False, False, True]


def test_gold_gives_the_error_rate(
    files: list[str], gold: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert align(*files, "--gold", gold, "--json") == 0
    report = report_of(capsys)
    assert report["pairs"] == len(CORPUS.links)
    assert report["aer"] < 0.05
    assert align(*files, "--gold", gold) == 0
    assert f"{100 * report['aer']:.1f} %" in capsys.readouterr().out


def test_the_hmm_beats_model_1(
    files: list[str], gold: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = {}
    for method in ("hmm", "model1"):
        assert align(*files, "--gold", gold, "--json", "--method", method) == 0
        rates[method] = report_of(capsys)["aer"]
    assert rates["hmm"] < rates["model1"] / 2


def test_gold_may_count_from_one_and_have_the_target_first(
    files: list[str], gold: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    turned = [" ".join(f"{j + 1}-{i + 1}" for i, j in links) for links in CORPUS.links]
    other = write_lines(tmp_path / "turned.txt", turned)
    assert align(*files, "--gold", gold, "--json", "--out", str(tmp_path / "a.txt")) == 0
    expected = report_of(capsys)
    options = ["--one-based", "--transpose", "--out", str(tmp_path / "b.txt")]
    assert align(*files, "--gold", str(other), "--json", *options) == 0
    assert report_of(capsys) == expected
    straight = (tmp_path / "a.txt").read_text("utf-8").splitlines()
    transposed = (tmp_path / "b.txt").read_text("utf-8").splitlines()
    assert [{(j, i) for i, j in read_links(line)} for line in transposed] == [
        set(read_links(line)) for line in straight
    ]


def test_json_holds_the_links_unless_a_file_does(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert align(*files) == 0
    printed = lines_of(capsys)
    assert align(*files, "--json") == 0
    alignments = json.loads(capsys.readouterr().out)["alignments"]
    assert [" ".join(f"{i}-{j}" for i, j in links) for links in alignments] == printed
    assert align(*files, "--json", "--out", str(tmp_path / "links.txt")) == 0
    assert "alignments" not in report_of(capsys)


@pytest.fixture
def few(tmp_path: Path) -> tuple[list[str], list[str], ToyCorpus]:
    """Twenty pairs to align, and the toy corpus as files to learn from."""
    corpus = make_corpus(20, reversed_order, seed=2)
    options: list[list[str]] = []
    for name, made in (("", corpus), ("train-", CORPUS)):
        sides = {"source": made.sources, "target": made.targets}
        given = []
        for side, rows in sides.items():
            path = write_lines(tmp_path / f"{name}{side}.txt", [" ".join(row) for row in rows])
            given += [f"--{name}{side}", str(path)]
        options.append(given)
    return options[0], options[1], corpus


def test_more_text_to_learn_from_helps(
    few: tuple[list[str], list[str], ToyCorpus],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files, training, corpus = few
    gold = write_lines(tmp_path / "gold.txt", [write_links(links) for links in corpus.links])
    rates = {}
    for name, options in {"alone": [], "more": training, "held": [*training, "--held-out"]}.items():
        assert align(*files, *options, "--method", "model1", "--gold", str(gold), "--json") == 0
        rates[name] = report_of(capsys)["aer"]
    assert rates["more"] < rates["alone"]
    assert rates["held"] < rates["alone"]


def test_held_out_text_is_not_learned_from(
    few: tuple[list[str], list[str], ToyCorpus], tmp_path: Path
) -> None:
    files, training, _ = few
    write_lines(Path(files[1]), ["unheard"] * 20)
    for option, is_known in (([], True), (["--held-out"], False)):
        out = tmp_path / "lexicon.npz"
        assert align(*files, *training, *option, "--lexicon", str(out), "--json") == 0
        assert ("unheard" in Lexicon.load(out).source_words) is is_known


def test_a_lexicon_is_lowercased_unless_case_is_kept(files: list[str], tmp_path: Path) -> None:
    out = tmp_path / "lexicon.npz"
    for option, word in (([], "w0"), (["--keep-case"], "W0")):
        assert align(*files, *option, "--lexicon", str(out), "--json") == 0
        assert Lexicon.load(out).translations("w0", 1)[0][0] == word


def test_tokenised_words_are_what_stands_between_spaces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_lines(tmp_path / "s.txt", ["l'Afrique", "l'", "Afrique"])
    options = ["--source", str(source), "--target", str(source)]
    assert align(*options) == 0
    assert lines_of(capsys)[0] == "0-0 1-1"
    assert align(*options, "--tokenised") == 0
    assert lines_of(capsys)[0] == "0-0"


def test_an_over_long_pair_is_left_unaligned_and_said_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_lines(tmp_path / "s.txt", ["a " * 300, "a"])
    assert align("--source", str(source), "--target", str(source)) == 0
    printed = capsys.readouterr()
    assert printed.out == "\n0-0\n"
    assert "1 pairs of more than 250 words were not aligned" in printed.err


def test_a_model_links_every_target_word(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_lines(tmp_path / "s.txt", ["le chat était assis", "", "Jane"])
    target = write_lines(tmp_path / "t.txt", ["the cat sat", "the", "Jane"])
    files = ["--source", str(source), "--target", str(target), "--model", str(run_folder)]
    assert align(*files) == 0
    first, empty, last = lines_of(capsys)
    assert sorted(j for _, j in read_links(first)) == [0, 1, 2]
    assert (empty, last) == ("", "0-0")


def test_two_models_are_symmetrised(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_lines(tmp_path / "s.txt", ["le chat était assis"])
    target = write_lines(tmp_path / "t.txt", ["the cat sat on a mat"])
    models = ["--model", str(run_folder), "--reverse-model", str(run_folder)]
    found = {}
    for how in ("forward", "reverse", "intersection"):
        files = ["--source", str(source), "--target", str(target)]
        assert align(*files, *models, "--symmetrise", how) == 0
        found[how] = read_links(lines_of(capsys)[0])
    assert found["intersection"] == found["forward"] & found["reverse"]
    assert sorted(i for i, _ in found["reverse"]) == [0, 1, 2, 3]


@pytest.fixture
def read(run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Read:
    """Align a few pairs by a model, and read the links."""
    source = write_lines(tmp_path / "s.txt", ["le chat était assis", "Jane visite un chat"])
    target = write_lines(tmp_path / "t.txt", ["the cat sat", "Jane visits a cat"])
    files = ["--source", str(source), "--target", str(target), "--model", str(run_folder)]

    def read(*options: str) -> list[str]:
        assert align(*files, *options) == 0
        return lines_of(capsys)

    return read


def test_any_head_can_be_read(read: Read) -> None:
    every = [read("--head", f"{layer}.{head}") for layer in (1, 2) for head in (1, 2, 3)]
    assert len({tuple(lines) for lines in every}) > 1
    assert read("--head", "mean") == read()


def test_the_best_head_is_one_of_the_heads(read: Read, files: list[str]) -> None:
    every = [read("--head", f"{layer}.{head}") for layer in (1, 2) for head in (1, 2, 3)]
    assert read("--head", "best") in every
    training = [word.replace("--", "--train-") for word in files]
    assert read("--head", "best", *training) in every


def test_shifting_reads_another_step(read: Read) -> None:
    every = [f"{layer}.{head}" for layer in (1, 2) for head in (1, 2, 3)]
    assert any(read("--head", head) != read("--head", head, "--shift") for head in every)


def test_a_head_that_the_model_has_not_is_refused(
    run_folder: Path, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert align(*files, "--model", str(run_folder), "--head", "3.1") == 2
    assert "layer 3 does not exist; expected 1 to 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--train-source", "a"], "--train-source and --train-target go together"),
        (["--held-out"], "--held-out needs other text to learn from"),
        (["--train-tokenised"], "--train-tokenised speaks of --train-source"),
        (["--one-based"], "--one-based says how --gold counts"),
        (["--reverse-model", "b"], "--reverse-model goes with --model"),
        (["--model", "a", "--symmetrise", "union"], "needs a model of each direction"),
        (["--model", "a", "--lexicon", "b"], "--lexicon is learned from source to target"),
        (["--symmetrise", "reverse", "--lexicon", "b"], "--lexicon is learned from source to"),
        (["--model", "a", "--train-source", "b", "--train-target", "c"], "--model learns nothing"),
        (["--model", "absent"], "absent: no such run folder"),
        (["--head", "best"], "--head and --shift say how to read a model's attention"),
        (["--shift"], "--head and --shift say how to read a model's attention"),
        (["--model", "a", "--head", "3"], "--head 3: expected mean, best, or a layer and a head"),
        (["--method", "model4"], "Invalid value"),
        (["--gold", "absent"], "absent does not exist"),
        (["--lexicon", "absent/lexicon.npz"], "absent/lexicon.npz: cannot be written"),
    ],
)
def test_a_mistake_is_answered_in_one_line(
    files: list[str], capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert align(*files, *options) == 2
    complaint = capsys.readouterr().err
    assert message in complaint
    assert complaint.count("\n") == 1


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0-0"], "gold.txt has 1 lines for 2 pairs"),
        (["0-0", "0-x"], "gold.txt: line 2: '0-x' is not a link"),
        (["0-0", "1-2"], "gold.txt: line 2 links words beyond the 2 of the source or the 2 of"),
    ],
)
def test_gold_that_does_not_fit_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: list[str], message: str
) -> None:
    text = str(write_lines(tmp_path / "text.txt", ["a b", "c d"]))
    gold = str(write_lines(tmp_path / "gold.txt", lines))
    assert align("--source", text, "--target", text, "--gold", gold) == 2
    assert message in capsys.readouterr().err


def test_files_of_unequal_length_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_lines(tmp_path / "s.txt", ["a"] * 3)
    target = write_lines(tmp_path / "t.txt", ["b"] * 2)
    assert align("--source", str(source), "--target", str(target)) == 2
    assert "s.txt has 3 lines, " in capsys.readouterr().err
