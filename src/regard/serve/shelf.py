"""The models that are served: by name, and by the languages they translate between."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.api import Translator
from regard.bounded import shown
from regard.errors import ConfigError
from regard.serve.refusal import Refusal
from regard.serve.worker import Worker
from regard.text.detect import detect

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
AUTO = "auto"
"""In the place of a source language: find it out."""


@dataclass(frozen=True, slots=True)
class Served:
    """A model, its name, and the thread that it works in."""

    name: str
    worker: Worker

    @property
    def translator(self) -> Translator:
        return self.worker.translator

    @property
    def source(self) -> str:
        return self.translator.source_language

    @property
    def target(self) -> str:
        return self.translator.target_language


class Shelf:
    """All models. A name that a client gives is looked up here and never made a path."""

    def __init__(self, models: Sequence[Served]) -> None:
        self._models = {model.name: model for model in models}

    def __iter__(self) -> Iterator[Served]:
        return iter(self._models.values())

    def languages(self) -> dict[str, list[str]]:
        """Every language, with those that it can be translated into, in the order of loading."""
        found: dict[str, list[str]] = {}
        for model in self:
            if model.source and model.target:
                targets = found.setdefault(model.source, [])
                found.setdefault(model.target, [])
                if model.target not in targets:
                    targets.append(model.target)
        return found

    def choose(
        self, name: str | None, source: str, target: str | None, text: str
    ) -> tuple[Served, float | None]:
        """The model that a request means.

        Args:
            name: of the model, if given.
            source: a language, or "auto".
            target: a language, if given.
            text: what the source language is found out from.

        Returns:
            The model and, where the source language had to be found out, how probable it is.

        Raises:
            Refusal: 404, there is no such model; 400, a language is not served.
        """
        models = self._named(name)
        if target is not None:
            models = self._narrowed(models, "target", target)
        if source != AUTO:
            models = self._narrowed(models, "source", source)
            return models[0], None
        if target is None and len({model.target for model in models}) > 1:
            raise Refusal(400, "target: give the language to translate into, or a model")
        return _reader(models, text)

    def reader(self, name: str | None, text: str) -> Served:
        """The model that reads a text, whatever it would translate it into.

        Args:
            name: of the model, if given; else the first of the text's language.
            text: what is to be read.

        Raises:
            Refusal: 404, there is no such model.
        """
        return _reader(self._named(name), text)[0]

    def _named(self, name: str | None) -> list[Served]:
        """The model of this name; all where there is no name."""
        if name is None:
            return list(self)
        if name not in self._models:
            known = ", ".join(self._models)
            raise Refusal(404, f"model: {shown(name)} is not served; there are: {known}")
        return [self._models[name]]

    def _narrowed(self, models: list[Served], side: str, language: str) -> list[Served]:
        found = [model for model in models if getattr(model, side) == language]
        if not found:
            known = dict.fromkeys(getattr(model, side) or "(none)" for model in models)
            raise Refusal(
                400, f"{side}: {shown(language)} is not served here; there is: {', '.join(known)}"
            )
        return found


def _reader(models: Sequence[Served], text: str) -> tuple[Served, float]:
    """The first model of the language that a text is in, and how probable that is."""
    sources = list(dict.fromkeys(model.source for model in models))
    ((language, probability), *_) = detect(text, sources)
    return next(model for model in models if model.source == language), probability


def named_folders(given: Sequence[str], option: str) -> dict[str, Path]:
    """What an option was given: NAME=DIR, or DIR whose last part is the name.

    Raises:
        ConfigError: a name cannot stand in an address, or two are the same.
    """
    folders: dict[str, Path] = {}
    for each in given:
        name, equals, folder = each.partition("=")
        if not equals or not NAME.fullmatch(name):
            name, folder = Path(each).resolve().name, each
        if not NAME.fullmatch(name):
            raise ConfigError(
                f"{option} {each}: {shown(name)} is no name; give one of letters, digits, . _ and "
                f"- with {option} NAME={folder}"
            )
        if name in folders:
            raise ConfigError(
                f"{option} {each}: {folders[name]} is called {name} too; give another name with "
                f"{option} NAME={folder}"
            )
        folders[name] = Path(folder)
    return folders
