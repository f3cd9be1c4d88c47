"""The recipes train, with the commands that their headers print, on a corpus of ours."""

import shlex
import shutil
from contextlib import redirect_stdout
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
        "train.precision=fp32",
    )
]


def printed(recipe: Path) -> list[list[str]]:
    """The commands of a recipe's header."""
    lines = [line for line in recipe.read_text("utf-8").splitlines() if line.startswith("#   ")]
    text = "\n".join(line.removeprefix("#   ") for line in lines).replace("\\\n", " ")
    return [shlex.split(line) for line in text.splitlines()]


def needed(recipe: Path) -> list[Path]:
    """A recipe, after those whose runs it begins with, and after those that they need."""
    words = {word for command in printed(recipe) for word in command}
    before = [other for other in RECIPES if other != recipe and f"runs/{other.stem}" in words]
    return list(dict.fromkeys([each for other in before for each in needed(other)] + [recipe]))


def get(pair: str, folder: Path, *, force: bool) -> None:
    """What `regard data get` would write, of our own sentences; other ones for German."""
    folder.mkdir(parents=True, exist_ok=force)
    beginning = "So " if pair == "en-de" else ""
    for language in pair.split("-"):
        side = int(language != "fr")
        for split, some in (("train", slice(None)), ("valid", slice(20)), ("test", slice(20))):
            lines = "".join(f"{beginning}{each[side]}\n" for each in sentences()[some])
            (folder / f"{split}.{language}").write_text(lines, "utf-8")


def run(command: list[str]) -> None:
    match command:
        case ["regard", "data", "get", _, "--pair", pair, "--out", folder, *rest]:
            get(pair, Path(folder), force=rest == ["--force"])
        case ["regard", "data", "make", name, *words]:
            words = words[2:] if words[0] == "--size" else words
            assert main(["data", "make", name, "--size", "400", *words]) == 0
        case ["regard", "verify-resume", *_]:
            pass  # a page of docs/ prints it too, and its test runs it
        case ["regard", "train", *words]:
            assert main(["train", *words, *SHORT]) == 0
        case ["regard", "distil", *words, "--agreement", _, "--out", source, target]:
            # What two steps teach does not come back.
            assert main(["distil", *words, "--agreement", "0", "--out", source, target]) == 0
        case ["regard", *words, ">", file]:
            with Path(file).open("w", encoding="utf-8") as output, redirect_stdout(output):
                assert main(words) == 0
        case ["regard", *words]:
            assert main(words) == 0
        case ["mkdir", folder]:
            Path(folder).mkdir()
        case ["cat", *files, ">", joined]:
            Path(joined).write_bytes(b"".join(Path(file).read_bytes() for file in files))
        case _:
            pytest.fail(f"a recipe prints {shlex.join(command)}")


def test_the_recipes_train_as_printed_in_one_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "recipes", tmp_path / "recipes")
    for recipe in dict.fromkeys(each for last in RECIPES for each in needed(last)):
        for command in printed(recipe):
            run(command)
        assert (tmp_path / "runs" / recipe.stem / "step-2").is_dir(), recipe.name
        config = read_config(recipe)
        assert all(Path(path).is_file() for path in (*config.data.train, *config.data.valid))
