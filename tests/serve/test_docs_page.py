"""docs/serve.md is true: its server starts as printed, and every curl is answered."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from regard.serve.limits import Limits
from tests.contracts.file_tree import ROOT
from tests.serve.running import TIMEOUT, Running, child, events

PAGE = (ROOT / "docs" / "serve.md").read_text("utf-8")
LINES = "\n".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)).replace("\\\n", " ").split("\n")


def commands(program: str) -> list[list[str]]:
    return [shlex.split(line, comments=True)[1:] for line in LINES if line.startswith(program)]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("words", commands("curl"), ids=lambda words: words[1].rsplit("/", 1)[1])
def test_every_curl_of_the_page_is_answered(server: Running, words: list[str]) -> None:
    words = [word.replace("http://127.0.0.1:8000", server.address) for word in words]
    done = subprocess.run(["curl", "--fail", *words], capture_output=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    if any(word.endswith("/stream") for word in words):
        assert events(done.stdout)[-1][0] == "done"
    else:
        assert json.loads(done.stdout)


def test_the_page_has_commands_and_curls() -> None:
    assert len(commands("curl")) >= 6
    assert len(commands("regard")) == 2


@pytest.mark.parametrize("command", commands("regard"), ids=["bundled", "given"])
def test_the_servers_of_the_page_start_as_printed(
    command: list[str], trained_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs").mkdir()
    for name in ("mine", "other"):
        shutil.copytree(trained_run, tmp_path / "runs" / name)
    monkeypatch.chdir(tmp_path)
    with child(*command[1:]) as server:
        assert server.process.poll() is None


def test_every_limit_of_the_page_is_an_option() -> None:
    named = {word.replace("-", "_") for word in re.findall(r"`--([a-z-]+)`", PAGE)}
    assert named - {"api_key_file", "cors_origin"} <= set(vars(Limits()))
    assert len(named) > 6
