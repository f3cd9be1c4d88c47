"""Translators that come with the package: run folders beside this file, named by their languages.

The recipes `tatoeba-fr-en` and `tatoeba-en-fr`, then `-more`, `-again` and `-final`, made them;
`regard quantise --bits 16` wrote them down in half precision. Each folder has a CARD.md that says
what it can do.
"""

from pathlib import Path

from regard.errors import ConfigError

PLACE = Path(__file__).parent


def bundled() -> dict[str, Path]:
    """Every model that came with the package, by its name."""
    return {path.parent.name: path.parent for path in sorted(PLACE.glob("*/run.toml"))}


def bundled_into(language: str) -> Path:
    """The model that came with the package and translates into a language.

    Raises:
        ConfigError: there is none.
    """
    found = {name.rpartition("-")[2]: folder for name, folder in bundled().items()}
    if language not in found:
        known = ", ".join(found) or "none"
        raise ConfigError(
            f"--to {language}: no model into it came with the package (there are: {known}); "
            "give one of your own with --model DIR"
        )
    return found[language]


def run_folder(name: str | Path) -> Path:
    """The folder that a name means: one that exists, or a model that came with the package."""
    return Path(name) if Path(name).is_dir() else bundled().get(str(name), Path(name))
