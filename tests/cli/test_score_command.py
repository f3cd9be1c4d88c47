"""`regard score`, as it is typed."""

import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from cyclopts import App

from regard import errors
from regard.cli.score import score
from regard.errors import ConfigError, RegardError
from regard.metrics.bleu import bleu

REFERENCE = ["Ein Mann läuft im Park.", "Ein Hund spielt im Schnee.", "Zwei Frauen lesen."]
SYSTEM = ["Ein Mann läuft im Park.", "Ein Hund spielt im Gras.", "Zwei Frauen lesen."]
BASELINE = ["Ein Mann geht im Park.", "Der Hund liegt im Gras.", "Zwei Frauen lesen."]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    texts = {"system": SYSTEM, "baseline": BASELINE, "reference": REFERENCE, "short": SYSTEM[:2]}
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: str) -> None:
    app = App(name="regard", result_action="return_value")
    app.command(score)
    app(["score", *command.split()], exit_on_error=False)


@pytest.mark.usefixtures("folder")
def test_the_table_shows_score_interval_and_signature(capsys: pytest.CaptureFixture[str]) -> None:
    run("system reference --metrics bleu --samples 50")
    found = bleu().score(SYSTEM, REFERENCE, samples=50)
    assert found.interval is not None
    printed = capsys.readouterr().out
    assert f"{found.value:.2f} ± {found.interval.half_width:.2f}" in printed
    assert f"BLEU|{found.signature}\n" in printed


@pytest.mark.usefixtures("folder")
def test_json_has_what_a_program_needs(capsys: pytest.CaptureFixture[str]) -> None:
    run("system reference --baseline baseline --samples 50 --lines 1 --paper-bleu de --json")
    report = json.loads(capsys.readouterr().out)
    assert [row["score"]["name"] for row in report["rows"]] == ["BLEU", "chrF2", "papers' BLEU"]
    assert {"difference", "interval", "p_value"} == set(report["rows"][0]["test"])
    assert report["different_lines"][0]["system"] in SYSTEM


@pytest.mark.usefixtures("folder")
def test_a_baseline_adds_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    run("system reference --baseline baseline --samples 50 --metrics bleu ter")
    printed = capsys.readouterr().out
    assert printed.count("two equally good systems would differ by") == 2
    assert "2 lines differ from baseline." in printed


@pytest.mark.usefixtures("folder")
def test_hypotheses_come_through_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = "".join(f"{line}\n" for line in REFERENCE).encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    run("- reference --samples 0 --metrics exact --json")
    report = json.loads(capsys.readouterr().out)
    assert (report["system"], report["rows"][0]["score"]["value"]) == ("standard input", 100)


@pytest.mark.usefixtures("folder")
def test_the_papers_bleu_can_stand_alone(capsys: pytest.CaptureFixture[str]) -> None:
    run("system reference --metrics --paper-bleu de --samples 0 --json")
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["score"]["name"] for row in rows] == ["papers' BLEU"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("short reference", "short has 2 lines, reference has 3; expected one translation"),
        ("system reference --baseline short", "short has 2 lines, reference has 3"),
        ("absent reference", "absent cannot be read: No such file or directory"),
        ("system reference --lines 3", "--lines compares two systems; name the other one"),
        ("system reference --metrics", "--metrics names none; expected at least one"),
    ],
)
def test_a_mistake_is_answered_in_one_line(command: str, message: str) -> None:
    with pytest.raises(RegardError, match=message) as caught:
        run(command)
    assert "\n" not in str(caught.value)


def test_options_are_checked_before_files_are_read() -> None:
    with pytest.raises(ConfigError):
        score(Path("absent"), Path("absent"), lines=1)


def test_the_commands_help_loads_no_metric() -> None:
    source = Path(errors.__file__).parents[1]
    code = "import regard.cli.score, sys; sys.exit('sacrebleu' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(source)}, check=False)
    assert ran.returncode == 0
