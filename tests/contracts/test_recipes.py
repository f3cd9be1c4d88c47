"""Every recipe trains, with the command that its header prints, on a corpus of ours."""

import shlex
from pathlib import Path

import pytest

from regard.cli.app import main
from regard.config import read_config
from tests.contracts.file_tree import ROOT
from tests.little_corpus import sentences

RECIPES = sorted((ROOT / "recipes").glob("*.toml"))
SHORT = [
    f"--set={setting}"
    for setting in (
        "text.vocab_size=340",
        "model.d_model=16",
        "model.d_ff=16",
        "model.encoder_layers=1",
        "model.decoder_layers=1",
        "train.steps=2",
        "train.validate_bleu=false",
        "train.device=cpu",
    )
]


def printed(recipe: Path) -> list[list[str]]:
    """The commands of a recipe's header."""
    lines = [line.removeprefix("#   ") for line in recipe.read_text("utf-8").splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("regard ")]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: str(recipe.stem))
def test_a_recipe_trains_as_printed(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / recipe.name).write_bytes(recipe.read_bytes())
    config = read_config(recipe)
    for files in (config.data.train, config.data.valid):
        for side, path in enumerate(map(Path, files)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{pair[side]}\n" for pair in sentences()), "utf-8")
    (train,) = [words for words in printed(recipe) if words[0] == "train"]
    assert main([*train, *SHORT]) == 0
    assert (tmp_path / "runs" / recipe.stem / "step-2").is_dir()


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: str(recipe.stem))
def test_a_recipe_says_how_to_get_its_data(recipe: Path) -> None:
    config = read_config(recipe)
    (data,) = [words for words in printed(recipe) if words[0] == "data"]
    place = data[data.index("--out") + 1]
    assert {str(Path(path).parent) for path in config.data.train} == {place}
