"""The benchmark of attention says what `regard align` says, and reports on what it did not use."""

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from attention_aer import COMBINATIONS, GoldText, gain, measure, row, show
from regard.align.aligner import train_aligner
from regard.align.options import Symmetrisation
from regard.align.pharaoh import write_links
from regard.cli.align_attention import counted
from regard.cli.app import main
from regard.errors import DataError
from regard.text.spans import word_spans
from tests.little_corpus import sentences

NUM_GOLD, NUM_CHOOSING = 24, 8


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Text to learn from, and a gold that is the HMM's own forward alignment."""
    folder = tmp_path_factory.mktemp("gold")
    known = sentences()
    held_out = [
        " ".join(cut) for pair in known[:NUM_GOLD] for cut in counted(pair, word_spans, True)
    ]
    sources, targets = held_out[::2], held_out[1::2]
    words = [counted([pair[side] for pair in known], word_spans, False) for side in (0, 1)]
    hmm = train_aligner(*words).forward
    assert hmm is not None
    links = hmm.align(*([text.lower().split() for text in side] for side in (sources, targets)))
    lines = {
        "train.fr": [source for source, _ in known],
        "train.en": [target for _, target in known],
        "text": [f"{s}   ||| {t}  " for s, t in zip(sources, targets, strict=True)],
        "gold": [write_links((i + 1, j + 1) for i, j in each) for each in links],
        "last.fr": sources[NUM_CHOOSING:],
        "last.en": targets[NUM_CHOOSING:],
    }
    lines["last.gold"] = lines["gold"][NUM_CHOOSING:]
    for name, each in lines.items():
        (folder / name).write_text("".join(f"{line}\n" for line in each), "utf-8")
    return folder


@pytest.fixture(scope="module")
def report(files: Path, trained_run: Path) -> dict[str, Any]:
    return measure(
        Namespace(
            model=trained_run,
            reverse=trained_run,
            guided=trained_run,
            guided_reverse=trained_run,
            text=files / "text",
            gold=files / "gold",
            train_source=files / "train.fr",
            train_target=files / "train.en",
            choose=NUM_CHOOSING,
            checkpoint=None,
        )
    )


def by_name(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in report["rows"]}


def test_every_way_is_a_row(report: dict[str, Any]) -> None:
    ways = ["mean attention", "best head", "shifted best head", "head by gold"]
    assert list(by_name(report)) == ["Model 1", "HMM", *ways, *(f"guided, {way}" for way in ways)]
    assert report["pairs"] == {"choosing": NUM_CHOOSING, "reported": NUM_GOLD - NUM_CHOOSING}
    json.dumps(report, allow_nan=False)


def test_the_aligner_that_made_the_gold_has_no_error(report: dict[str, Any]) -> None:
    assert by_name(report)["HMM"]["forward"] == {"aer": 0.0, "precision": 1.0, "recall": 1.0}


@pytest.mark.parametrize(
    ("name", "head"),
    [("mean attention", ["--head", "mean"]), ("shifted best head", ["--head", "best", "--shift"])],
)
def test_a_model_s_error_is_that_of_the_command(
    report: dict[str, Any],
    files: Path,
    trained_run: Path,
    name: str,
    head: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    known = ["--train-source", str(files / "train.fr"), "--train-target", str(files / "train.en")]
    arguments = ["--source", str(files / "last.fr"), "--target", str(files / "last.en")]
    arguments += ["--gold", str(files / "last.gold"), "--one-based", "--tokenised", "--json"]
    arguments += ["--model", str(trained_run), *head, *(known if "best" in head else [])]
    capsys.readouterr()
    assert main(["align", *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    assert by_name(report)[name]["forward"]["aer"] == pytest.approx(found["aer"])


def test_only_the_first_pairs_choose(files: Path) -> None:
    text = GoldText.read(files / "text", files / "gold", NUM_CHOOSING)
    gold = [each.sure for each in text.gold]
    nothing = [frozenset[tuple[int, int]]()] * NUM_GOLD
    # Right on the first, wrong on the rest: nothing of the choice is seen in what is reported.
    early = [*gold[:NUM_CHOOSING], *nothing[NUM_CHOOSING:]]
    found = row("early", early, nothing, text)
    preferred: Symmetrisation = found["symmetrised"]["how"]
    assert preferred in COMBINATIONS and preferred != "intersection"
    assert found["choosing"] == 0.0
    assert found["forward"]["aer"] == found["symmetrised"]["aer"] == 1.0


def test_the_gain_is_that_of_the_row_which_the_first_pairs_prefer() -> None:
    def made(name: str, choosing: float, aer: float) -> dict[str, Any]:
        return {"name": name, "choosing": choosing, "symmetrised": {"aer": aer}, "heads": []}

    rows = [made("mean attention", 0.5, 0.6), made("a", 0.2, 0.4), made("b", 0.3, 0.1)]
    assert gain(rows) == {"best": "a", "over": "mean attention", "aer": pytest.approx(0.2)}


def test_the_table_is_shown(report: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    show(report)
    printed = capsys.readouterr().out
    assert "AER on 16 pairs" in printed and "points better than mean attention" in printed


@pytest.mark.parametrize(
    ("first", "rest", "choose", "message"),
    [
        ("1-1", slice(0), 0, "has 1 lines and .* expected as many"),
        ("1-1", slice(1, None), NUM_GOLD, "more than the 24 to choose on"),
        ("99-1", slice(1, None), NUM_CHOOSING, "line 1 links words beyond"),
    ],
)
def test_what_does_not_fit_is_refused(
    files: Path, tmp_path: Path, first: str, rest: slice, choose: int, message: str
) -> None:
    lines = (files / "gold").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "gold").write_text(f"{first}\n{''.join(lines[rest])}", "utf-8")
    with pytest.raises(DataError, match=message):
        GoldText.read(files / "text", tmp_path / "gold", choose)
