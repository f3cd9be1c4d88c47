"""The README is true: its commands run as printed, its Python runs, its file tree is the tree."""

import re
import shlex
from pathlib import Path

import pytest

from regard.cli.app import main
from tests.contracts.file_tree import ROOT, file_tree, readme_with

README = (ROOT / "README.md").read_text("utf-8")
# What makes a long command short, without changing what it does.
LIMITS = {
    "train": ["--preset", "nano"]
    + [f"--set=train.{s}" for s in ("steps=2", "validate_every=2", "validate_bleu=false", "show=0")]
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands() -> list[str]:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith("regard ")]


def shorten(corpus: Path) -> None:
    """Leave a few sentences of the test set."""
    for path in corpus.glob("test.*"):
        path.write_text("\n".join(path.read_text("utf-8").split("\n")[:5]) + "\n", "utf-8")


def run(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(command)[1:]
    into = None
    if ">" in words:
        words, into = words[: words.index(">")], words[words.index(">") + 1]
    capsys.readouterr()
    code = main([*words, *LIMITS.get(words[0], [])])
    printed = capsys.readouterr()
    assert code == 0, f"{command}\n{printed.out}\n{printed.err}"
    if into:
        Path(into).write_text(printed.out, "utf-8")


def test_every_command_and_every_program_of_the_readme_runs_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(commands()) >= 8
    for command in commands():
        run(command, capsys)
        shorten(tmp_path / "data" / "phrasebook")
    for program in blocks("python"):
        exec(compile(program, "README.md", "exec"), {})


def test_the_file_tree_of_the_readme_is_the_tree() -> None:
    assert readme_with(file_tree()) == README, "python tests/contracts/file_tree.py rewrites it"


def test_every_make_target_of_the_readme_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^make (\w+)", "\n".join(blocks("sh")), re.MULTILINE))
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
