"""`regard road` refuses what it cannot run, before it begins."""

from pathlib import Path

import pytest

from regard.cli.app import main
from tests.road.little_race import little_corpus, little_race

BUDGET = ["--budget", "1"]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (BUDGET, "which corpus? give --corpus DIR"),
        (["--corpus", "corpus", "--pair", "fr-en"], "what may each system spend?"),
        (["--experiment", "data"], "what may each system spend?"),
        ([*BUDGET, "--flops", "1e9", "--experiment", "data"], "what may each system spend?"),
        (["--quick", "--corpus", "corpus"], "--quick brings its own corpus and budget"),
        (["--quick", "--systems", "gur"], "--systems gur: no such system; did you mean gru?"),
        (["--quick", "--ensemble", "gru+lsmt"], "no such system; did you mean lstm"),
        (["--quick", "--experiment", "data", "--systems", "gur"], "did you mean gru?"),
        (
            ["--quick", "--experiment", "length", "--ensemble", "gru+lstm"],
            "--ensemble is of the race",
        ),
        (
            ["--experiment", "length", "--corpus", "corpus", "--pair", "fr-en", *BUDGET],
            "--experiment length writes sentences whose lengths it knows; leave out --corpus",
        ),
        (
            ["--quick", "--experiment", "gradient", "--systems", "gru", "phrases"],
            "--systems phrases: made of counts, it has no gradient",
        ),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(
    given: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    little_corpus(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["road", *given]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert complaint in said
    assert not Path("runs").exists()


def test_a_folder_of_another_race_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    little_race(tmp_path, out="runs/road").hold()
    given = ["--corpus", "corpus", "--pair", "fr-en", "--budget", "30", "--systems", "dictionary"]
    assert main(["road", *given]) == 2
    assert capsys.readouterr().err == (
        "regard: runs/road is a race on corpus, fr → en, where budget.minutes is 1e-06, here 30; "
        "give another --out\n"
    )
