"""The command line as a whole: help without torch, and mistakes answered in one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from regard import __version__
from regard.cli.app import app, main
from regard.errors import ConfigError

COMMANDS = [name for name in app if not name.startswith("-")]

HELP_WITHOUT_TORCH = """
import sys
from regard.cli.app import main
code = main(sys.argv[1:])
heavy = {"torch", "pydantic", "sentencepiece", "sacrebleu", "matplotlib"} & set(sys.modules)
sys.exit(f"imported {heavy}" if heavy else code)
"""


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_printed_without_importing_torch(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HELP_WITHOUT_TORCH, *command.split(), "--help"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "100"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"Usage: regard {command}".rstrip())
    assert all(len(line) <= 100 for line in lines)
    assert "│ --help" in done.stdout or command


def test_the_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    assert {"train", "translate", "new"} <= set(COMMANDS)
    assert all(f"│ {command} " in printed for command in COMMANDS)


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("trian", 'Unknown command "trian". Did you mean "train"?'),
        ("train", "nothing to train on; give a run file, or --source and --target"),
        ("train absent.toml", "absent.toml: cannot be read (No such file or directory)"),
        ("train --stes 3", "Unknown option: --stes"),
        ("train --source a.fr", "nothing to train on"),
        (
            "translate Où est la gare ?",
            "est la gare ?: nothing more was expected; a text of several",
        ),
        ("train --source a.fr --target a.en", "a.fr does not exist"),
        ("train run.toml --source a --target b", "a run file and --source/--target exclude one"),
        ("train run.toml --preset huge", "--preset huge: known are nano, tiny, small, base, big"),
        ("train run.toml --set train.step=3", "--set: unknown key train.step; did you mean"),
        ("train run.toml", "data.train names no files"),
        ("train run.toml --out folder", "folder exists already; --resume goes on with it"),
        ("train --resume", "which run folder? give --out DIR"),
        ("train --resume --out absent", "absent: no such run folder"),
        ("train --resume --out folder", "folder: no manifest.json; this is not a run folder"),
        ("train --resume --out folder --set train.seed=3", "--resume goes on exactly as the run"),
        ("train data.toml --init-from absent", "absent: no such run folder"),
        ("translate hello --to xx", "--to xx: no model into it came with the package"),
        ("translate hello --model absent", "absent: no such run folder"),
        ("translate hello --model folder", "folder: no manifest.json; this is not a run folder"),
        ("translate hello --model folder --file x", "a text and --file exclude one another"),
        ("translate hello --model folder --beam x", 'unable to convert "x" into int'),
        ("new run.toml", "run.toml exists already; choose another name, or --force"),
        ("new other.toml --preset huge", "--preset huge: known are nano, tiny, small, base, big"),
        ("new absent/run.toml", "No such file or directory: 'absent/run.toml'"),
        ("info absent", "absent"),
        ("score absent absent", "absent"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "run.toml").write_text("", "utf-8")
    (tmp_path / "data.toml").write_text('[data]\ntrain = ["a.fr", "a.en"]\n', "utf-8")
    before = sorted(tmp_path.rglob("*"))
    assert main(arguments.split()) == 2
    out, err = capsys.readouterr()
    *said, complaint = err.splitlines()
    assert complaint.startswith("regard: ")
    assert message in complaint
    assert all(line.startswith("reading ") for line in said)
    assert out == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_debug_shows_where_a_mistake_was_found() -> None:
    with pytest.raises(ConfigError, match="nothing to train on"):
        main(["train", "--debug"])


def test_ctrl_c_is_one_line_and_exit_code_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("regard.cli.app.app", interrupt)
    assert main([]) == 130
    assert capsys.readouterr().err == "regard: interrupted\n"


def test_a_bug_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("ours")

    monkeypatch.setattr("regard.cli.app.app", fail)
    with pytest.raises(AssertionError):
        main([])


def test_a_reader_that_leaves_ends_it_quietly() -> None:
    program = "import sys; from regard.cli.app import main; sys.exit(main(['new', '-']))"
    done = subprocess.run(
        [
            "bash",
            "-c",
            '"$0" -c "$1" | head -c 1; exit "${PIPESTATUS[0]}"',
            sys.executable,
            program,
        ],
        capture_output=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert done.stderr == b""
    assert done.returncode == 0
