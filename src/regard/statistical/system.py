"""What the systems before neural networks have in common: text in, text and links out, a folder."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, final

from pydantic import TypeAdapter, ValidationError

from regard.align import hmm, model1
from regard.align.aligner import train_aligner
from regard.align.links import Link
from regard.align.training import Iteration
from regard.bounded import check_own, read_bounded
from regard.data.corpus import Example
from regard.errors import DataError, ModelFileError
from regard.sealed import sealing, verify
from regard.statistical.decoder import SEARCH, SearchConfig, decode
from regard.statistical.dictionary import Dictionary, train_dictionary
from regard.statistical.language_model import LanguageModel, train_language_model
from regard.statistical.model import WEIGHTS, Derivation, PhraseModel, Weights
from regard.statistical.phrases import PhraseTable, train_phrases
from regard.statistical.tokens import cased_like, joined, tokens_of, truecased, words_of
from regard.statistical.tuning import ROUNDS, tune

Kind = Literal["dictionary", "phrases"]

INDEX = "system.json"
MAX_INDEX_BYTES = 100_000

LONGEST_PART = 100
"""Source words that are searched together: the work grows with the cube of their number."""

TUNED_ON = 500
"""Held-out sentences that weights are tuned on; more take longer and change little."""

Progress = Callable[[str, float], None]
"""Told what is being done, and which share of it is."""


def say_nothing(stage: str, share: float) -> None:
    """The progress of whoever does not want to know."""


@dataclass(frozen=True, slots=True)
class Translated:
    """A sentence, its translation, and which word came from which.

    Attributes:
        text: the translation.
        source: the source words.
        target: the words of the translation.
        links: pairs (source word, target word), counted from 0.
        score: Σ λ h of a search; None where nothing is compared.
    """

    text: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[Link, ...]
    score: float | None

    @classmethod
    def of(
        cls, text: str, tokens: Sequence[str], links: Sequence[Link], score: float | None
    ) -> "Translated":
        """Put the tokens of a translation together, beginning as the source does."""
        source = tuple(token.strip() for token in tokens_of(text))
        target = tuple(token.strip() for token in tokens)
        return cls(cased_like(joined(tokens), text), source, target, tuple(links), score)

    def to_json(self) -> dict[str, Any]:
        """Plain lists, numbers and strings."""
        return asdict(self)


class System(ABC):
    """A translator that is trained in one pass over a corpus and kept in a sealed folder."""

    kind: ClassVar[Kind]

    @abstractmethod
    def translate_one(self, text: str) -> Translated:
        """Translate a sentence; an empty one stays empty."""

    @abstractmethod
    def num_parameters(self) -> int:
        """How many entries its tables have."""

    @abstractmethod
    def _write(self, folder: Path) -> dict[str, Any]:
        """Write the system's files, and return what else there is to know of it."""

    def translate(
        self, texts: Sequence[str], *, progress: Progress = say_nothing
    ) -> list[Translated]:
        """Translate sentences, each by itself."""
        found = []
        for number, text in enumerate(texts, start=1):
            found.append(self.translate_one(text))
            progress("translating", number / len(texts))
        return found

    def save(self, folder: Path) -> None:
        """Write a sealed folder; no file of it is a pickle.

        Raises:
            ModelFileError: the folder exists, or cannot be written.
        """
        with sealing(folder) as place:
            index = {"kind": self.kind, **self._write(place)}
            (place / INDEX).write_text(json.dumps(index, indent=2) + "\n", "utf-8")


@final
@dataclass(frozen=True)
class DictionarySystem(System):
    """Word by word, see `Dictionary`."""

    kind: ClassVar[Kind] = "dictionary"
    dictionary: Dictionary

    @classmethod
    def train(
        cls, pairs: Sequence[Example], *, progress: Progress = say_nothing
    ) -> "DictionarySystem":
        """Learn from sentence pairs.

        Raises:
            DataError: no pair has words on both sides.
        """
        sources = [words_of(pair.source) for pair in pairs]
        targets = [tokens_of(pair.target) for pair in pairs]
        told = _passes(progress, 2 * model1.ITERATIONS)
        return cls(train_dictionary(sources, targets, progress=told))

    def translate_one(self, text: str) -> Translated:
        tokens, links = self.dictionary.translate(words_of(text), tokens_of(text))
        return Translated.of(text, tokens, links, None)

    def num_parameters(self) -> int:
        return len(self.dictionary.best)

    def _write(self, folder: Path) -> dict[str, Any]:
        self.dictionary.save(folder / "dictionary.npz")
        return {}


@final
@dataclass(frozen=True)
class PhraseSystem(System):
    """Phrases, a language model and a search, see `PhraseModel` and `decode`."""

    kind: ClassVar[Kind] = "phrases"
    model: PhraseModel
    search: SearchConfig = SEARCH

    @classmethod
    def train(
        cls,
        pairs: Sequence[Example],
        valid: Sequence[Example] = (),
        *,
        search: SearchConfig = SEARCH,
        progress: Progress = say_nothing,
    ) -> "PhraseSystem":
        """Learn from sentence pairs.

        Words are aligned by the HMM in both directions, phrases extracted from the
        symmetrised links, and the language model estimated on the targets.

        Args:
            pairs: sentences and their translations.
            valid: others, on which the weights are tuned; the defaults stay if there are none.
            search: how translations are found.
            progress: told of every stage.

        Raises:
            DataError: there is nothing to learn from.
        """
        sources = [words_of(pair.source) for pair in pairs]
        words = [words_of(pair.target) for pair in pairs]
        targets = truecased([tokens_of(pair.target) for pair in pairs])
        told = _passes(progress, 2 * (model1.ITERATIONS + hmm.ITERATIONS))
        alignments = train_aligner(sources, words, progress=told).align(sources, words)
        table = train_phrases(
            sources,
            targets,
            alignments,
            progress=lambda num_done: progress("extracting phrases", num_done / len(pairs)),
        )
        progress("counting n-grams", 0.0)
        model = PhraseModel(table, train_language_model(targets), WEIGHTS)
        progress("counting n-grams", 1.0)
        chosen = valid[:TUNED_ON]
        if chosen:
            weights = tune(
                model,
                [pair.source for pair in chosen],
                [pair.target for pair in chosen],
                search=search,
                progress=lambda num_done: progress("tuning", num_done / (ROUNDS * len(chosen))),
            )
            model = replace(model, weights=weights)
        return cls(model, search)

    def translate_one(self, text: str) -> Translated:
        words, copies = words_of(text), tokens_of(text)
        tokens: list[str] = []
        links: list[Link] = []
        score = 0.0
        # A very long sentence is translated in parts, as if each were a sentence.
        for begin in range(0, len(words), LONGEST_PART):
            part = slice(begin, begin + LONGEST_PART)
            best = self._best(words[part], copies[part])
            links += [(begin + i, len(tokens) + j) for i, j in best.links]
            tokens += best.tokens
            score += best.score
        return Translated.of(text, tokens, links, score)

    def num_parameters(self) -> int:
        return self.model.table.scores.size + len(self.model.language_model.log_probs)

    def _best(self, words: Sequence[str], copies: Sequence[str]) -> Derivation:
        (best,) = decode(self.model, words, copies, self.search)
        return best

    def _write(self, folder: Path) -> dict[str, Any]:
        self.model.table.save(folder / "phrases.npz")
        self.model.language_model.save(folder / "language_model.npz")
        return {"weights": asdict(self.model.weights), "search": asdict(self.search)}


@dataclass(frozen=True, kw_only=True)
class _Index:
    """What `system.json` holds."""

    kind: Kind
    weights: Weights = WEIGHTS
    search: SearchConfig = SEARCH


def load_system(folder: Path) -> System:
    """Read what `System.save` wrote, every file checked.

    Raises:
        ModelFileError: the folder is missing, damaged or holds something else.
    """
    if not folder.is_dir():
        raise ModelFileError(f"{folder} is not a folder; make one with `regard baseline train`")
    verify(folder)
    check_own(folder, folder)
    index = _read_index(folder / INDEX)
    if index.kind == "dictionary":
        return DictionarySystem(Dictionary.load(folder / "dictionary.npz"))
    table = PhraseTable.load(folder / "phrases.npz")
    language_model = LanguageModel.load(folder / "language_model.npz")
    return PhraseSystem(PhraseModel(table, language_model, index.weights), index.search)


def train_system(
    kind: Kind,
    pairs: Sequence[Example],
    valid: Sequence[Example] = (),
    *,
    progress: Progress = say_nothing,
) -> System:
    """Train a system of either kind; only that of phrases has weights to tune.

    Raises:
        DataError: there is nothing to learn from.
    """
    if not pairs:
        raise DataError("there are no sentence pairs to learn from")
    if kind == "dictionary":
        return DictionarySystem.train(pairs, progress=progress)
    return PhraseSystem.train(pairs, valid, progress=progress)


def _passes(progress: Progress, total: int) -> Callable[[Iteration], None]:
    """What tells a `Progress` of the passes of EM, of which there will be a number."""
    num_done = 0

    def tell(done: Iteration) -> None:
        nonlocal num_done
        num_done += 1
        progress(f"aligning words, {done.model}", num_done / total)

    return tell


def _read_index(path: Path) -> _Index:
    try:
        return TypeAdapter(_Index).validate_json(read_bounded(path, MAX_INDEX_BYTES), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ModelFileError(
            f"{path}: {where + ': ' if where else ''}{first['msg']}; make the system again with "
            "`regard baseline train`"
        ) from None
