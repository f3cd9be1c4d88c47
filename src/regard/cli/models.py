"""Which model a command means: the one that is given, or one that came with the package."""

from collections.abc import Sequence
from pathlib import Path

from regard.bundled import bundled_into
from regard.errors import ConfigError

DEFAULT_LANGUAGE = "en"


def given_or_bundled(model: Sequence[Path], to: str | None) -> tuple[Path, ...]:
    """The run folders after --model, or the model that came along and translates --to a language.

    Raises:
        ConfigError: both are given, or no such model came along.
    """
    if model and to is not None:
        raise ConfigError("--to chooses among the models of the package; leave it out with --model")
    return tuple(model) or (bundled_into(to or DEFAULT_LANGUAGE),)
