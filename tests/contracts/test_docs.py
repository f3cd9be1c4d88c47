"""The pages under docs/ are true: their commands run as printed, on a small corpus of ours."""

import re
import shlex
import shutil
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import pytest

from regard.build import build_trainer, create_run
from regard.cli.app import main
from regard.data.noise import SHARES
from tests.contracts.file_tree import ROOT
from tests.contracts.kept_race import PAGE, kept_table, page_with
from tests.little_corpus import little_run, sentences, turned, write_corpus

# A server does not end by itself: tests/serve/test_docs_page.py runs the page about it.
PAGES = sorted(page for page in (ROOT / "docs").glob("*.md") if page.stem != "serve")
# What makes a long command short, without changing what it does.
SHORTER = {
    ("--steps", "50"): "2",
    ("--budget", "30"): "0.0001",
    ("--agreement", "30"): "0",  # what two steps teach does not come back
    ("--set", "train.steps=60000"): "train.steps=3",
}
SMALLER = {
    ("road", "--corpus"): ["--systems", "dictionary", "bahdanau", "transformer"],
    ("road", "--experiment"): ["--quick", "--systems", "lstm"],
    ("data", "make"): ["--size", "400"],
    ("verify-resume", "recipes/phrasebook.toml"): [
        f"--set={s}" for s in ("text.vocab_size=400", "model.d_model=16", "train.batch_tokens=400")
    ],
}


def commands(page: Path) -> list[list[str]]:
    """The `regard` commands of a page's code blocks, comments and placeholders' case apart."""
    blocks = re.findall(r"```\w*\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").split("\n")
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("regard ")]


def shortened(words: list[str]) -> list[str]:
    given = [SHORTER.get((before, word), word) for before, word in pairwise(["", *words])]
    return given + SMALLER.get((words[0], words[1]), [])


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with every file that the pages speak of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("regard.cli.road.QUICK_SIZE", 1200)
    monkeypatch.setattr("regard.road.experiments.data.HALVINGS", 1)
    corpus = write_corpus(tmp_path)
    config = little_run(corpus, steps=2)
    run = create_run(
        tmp_path / "runs" / "mine",
        replace(
            config,
            model=replace(config.model, norm_place="post"),
            decoding=replace(config.decoding, beam=1),
        ),
    )
    build_trainer(run).train()
    shutil.copytree(run.folder, tmp_path / "runs" / "other")
    back = create_run(tmp_path / "runs" / "back", turned(little_run(corpus, steps=2)))
    build_trainer(back).train()
    shutil.copytree(ROOT / "recipes", tmp_path / "recipes")
    captions = tmp_path / "data" / "multi30k-de-en"
    captions.mkdir(parents=True)
    for split, language in product(("train", "valid", "test"), ("de", "en")):
        text = "".join(f"{pair[language == 'en']}\n" for pair in sentences())
        (captions / f"{split}.{language}").write_text(text, "utf-8")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "multi30k").symlink_to(ROOT / "results" / "multi30k")
    some = sentences()[:20]
    for place, language in enumerate(("fr", "en")):
        few = "".join(f"{pair[place]}\n" for pair in some[:2])
        (tmp_path / f"valid.{language}").write_text(few, "utf-8")
    texts = {
        "fr": [source for source, _ in some],
        "en": [target for _, target in some],
        "gold": ["1-1 2p2"] * len(some),
    }
    for name, side in {
        "new.fr": "fr",
        "new.en": "en",
        "hansards.en": "en",
        "hansards.fr": "fr",
        "HYPOTHESES": "en",
        "REFERENCE": "en",
        "SYSTEM": "en",
        "OTHER": "fr",
        "gold.txt": "gold",
        "hansards.en-fr.gold": "gold",
    }.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in texts[side]), "utf-8")
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_every_command_of_a_page_runs_as_printed(
    page: Path, desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in commands(page):
        if "downloads/opus-mt-fr-en" in words:
            shutil.copytree(desk / "out" / "marian", desk / "downloads" / "opus-mt-fr-en")
        assert main(shortened(words)) == 0, f"regard {shlex.join(words)}\n{capsys.readouterr().err}"


def test_the_pages_have_commands() -> None:
    assert sum(len(commands(page)) for page in PAGES) >= 9


def pictures(page: Path) -> set[Path]:
    """The pictures that a page shows or links to."""
    named = re.findall(r'(?:\]\(|src="|srcset=")([^)"]+\.(?:png|svg))', page.read_text("utf-8"))
    return {(page.parent / name).resolve() for name in named}


def test_every_picture_is_shown_somewhere_and_none_is_missing_or_heavy() -> None:
    drawn = {path.resolve() for path in (ROOT / "docs" / "pictures").iterdir()}
    raced = {path.resolve() for path in (ROOT / "results" / "road").glob("*.png")}
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = set().union(*map(pictures, pages))
    assert drawn <= shown <= drawn | raced
    assert sum(path.stat().st_size for path in shown) < 2_000_000


def test_the_race_that_is_told_is_the_race_that_was_run() -> None:
    table = kept_table()
    rewrite = "python -m tests.contracts.kept_race rewrites it"
    assert PAGE.read_text("utf-8") == page_with(table), rewrite
    assert (ROOT / "results" / "road" / "table.md").read_text("utf-8") == table


def test_the_shares_of_noise_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "low-resource.md").read_text("utf-8")
    found = re.findall(r"^\| `(\w+)` \|.*\| ([0-9.]+) \|$", page, re.MULTILINE)
    assert {kind: float(share) for kind, share in found} == SHARES
