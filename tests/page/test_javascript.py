"""The page's JavaScript apart from a page."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import regard
from regard.lens.colours import RAMP

PAGE = Path(regard.__file__).parent / "serve" / "page"
MODULES = sorted(path.name for path in (PAGE / "js").glob("*.js"))
# By which text could become elements or a program.
DOORS = [
    *["innerHTML", "outerHTML", "insertAdjacentHTML", "setHTMLUnsafe", "parseHTMLUnsafe"],
    *["createContextualFragment", "DOMParser", "document.write", "srcdoc"],
    *["eval(", "new Function", "Function("],
]


def test_what_is_pure_does_what_it_says() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on this machine; the page needs none, these tests do")
    tests = sorted(map(str, (Path(__file__).parent / "js").glob("*.test.mjs")))
    done = subprocess.run([node, "--test", *tests], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_page_has_the_ramp_of_every_picture() -> None:
    source = (PAGE / "js" / "colours.js").read_text("utf-8")
    light = re.search(r"LIGHT = \[(.*?)\]", source)
    assert light and tuple(re.findall(r"#\w{6}", light[1])) == RAMP


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_checked_and_import_each_other_by_bare_names(name: str) -> None:
    source = (PAGE / "js" / name).read_text("utf-8")
    assert source.startswith("// @ts-check\n/**")
    imported = re.findall(r'from "(.+?)"|^import "(.+?)"', source, re.MULTILINE)
    assert all(one.startswith("regard/") or two.startswith("regard/") for one, two in imported)


@pytest.mark.parametrize("name", MODULES)
def test_text_enters_the_page_as_text_only(name: str) -> None:
    source = (PAGE / "js" / name).read_text("utf-8")
    assert [door for door in DOORS if door in source] == []
