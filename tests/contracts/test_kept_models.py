"""The models in results/multi30k/models are whole, and are what the recipes make."""

import json
import re
from dataclasses import replace

import pytest

import regard
from regard.api import Translator
from regard.build import open_run
from regard.config import RunConfig, read_config
from tests.contracts.file_tree import ROOT

MODELS = sorted((ROOT / "results" / "multi30k" / "models").iterdir())
RECIPES = {"en-de": "multi30k-en-de-diverse", "en-fr": "multi30k-en-fr", "de-en": "multi30k-de-en"}

every_model = pytest.mark.parametrize("name", [folder.name for folder in MODELS])


@pytest.fixture
def kept(name: str) -> Translator:
    return regard.load(ROOT / "results" / "multi30k" / "models" / name, device="cpu")


def essence(config: RunConfig) -> RunConfig:
    """A run file without what a header lets its reader choose, and where the corpus lies."""
    train = replace(config.train, seed=1, precision="fp32")
    data = replace(config.data, train=(), valid=())
    return replace(config, data=data, train=train)


@every_model
def test_a_kept_model_is_whole_and_translates(kept: Translator, name: str) -> None:
    sentence = "A man sleeps." if name.startswith("en") else "Ein Mann schläft."
    verb = {"de": "schl", "fr": "dort", "en": "sleep"}[name.split("-")[1]]
    assert verb in kept.translate(sentence).text


@every_model
def test_a_kept_model_was_trained_as_its_recipe_says(name: str) -> None:
    recipe = read_config(ROOT / "recipes" / f"{RECIPES[name[:5]]}.toml")
    run = open_run(ROOT / "results" / "multi30k" / "models" / name)
    assert essence(run.config) == essence(recipe)


def test_the_page_tells_what_they_score() -> None:
    page = (ROOT / "docs" / "multi30k.md").read_text("utf-8")
    kept = json.loads((MODELS[0].parents[1] / "scores.json").read_text("utf-8"))
    told = set(re.findall(r"\| ([^|]+) (?=\|)", page.replace("*", "")))
    missing = [
        (name, column)
        for name, row in kept["rows"].items()
        for column, (value, half_width) in row.items()
        if f"{value:.2f}" + ("" if half_width is None else f" ± {half_width:.2f}") not in told
    ]
    assert not missing
    assert {name for name in kept["rows"] if "," not in name} == {path.name for path in MODELS}
