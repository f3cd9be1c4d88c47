"""The corpus of a race: a folder with train, valid and test in two languages."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from regard.data.config import DataConfig
from regard.data.corpus import Example, Splits, read_pairs, write_pairs
from regard.data.store import checksum
from regard.errors import DataError

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True, slots=True)
class RaceCorpus:
    """Three splits of parallel text, as `regard data get` and `regard data make` write them.

    Attributes:
        folder: where train.fr, train.en and the others are.
        source: the source language, a suffix of those files.
        target: the target language.
        size: pairs asked of the generator that the folder is named after; None for a corpus that
            is not generated.
    """

    folder: Path
    source: str
    target: str
    size: int | None = None

    @classmethod
    def of(cls, folder: Path, pair: str | None = None) -> "RaceCorpus":
        """Find the languages of a folder.

        Args:
            folder: with train, valid and test.
            pair: such as de-en. A folder does not say which of its languages is the source.

        Raises:
            DataError: a file is missing, or the pair does not fit the files.
        """
        found = sorted(path.suffix[1:] for path in folder.glob("train.*"))
        if pair is None:
            raise DataError(
                f"{folder} has {' and '.join(found) or 'no train files'}; "
                "name source and target with --pair, such as --pair de-en"
            )
        source, _, target = pair.partition("-")
        corpus = cls(folder, source, target)
        for split in SPLITS:
            for path in corpus.files(split):
                if not path.is_file():
                    raise DataError(
                        f"{path} does not exist; `regard data get` writes such a folder"
                    )
        return corpus

    def write(self, make: Callable[[], Splits]) -> None:
        """Make and write it, unless it is there."""
        if not all(path.exists() for split in SPLITS for path in self.files(split)):
            made = make()
            for split in SPLITS:
                write_pairs(self.files(split), getattr(made, split), force=True)

    @property
    def title(self) -> str:
        """The corpus and its languages, such as multi30k, en → de."""
        return f"{self.folder.resolve().name}, {self.source} → {self.target}"

    @property
    def pair(self) -> str:
        """The languages, such as en-de."""
        return f"{self.source}-{self.target}"

    def identity(self) -> dict[str, str | int]:
        """What tells it from every other corpus, whether it is written yet or not."""
        if self.size is not None:
            return {"generator": self.folder.name, "size": self.size}
        return {path.name: checksum(path) for split in SPLITS for path in self.files(split)}

    def files(self, split: str) -> tuple[Path, Path]:
        """Source and target file of train, valid or test."""
        return (
            self.folder / f"{split}.{self.source}",
            self.folder / f"{split}.{self.target}",
        )

    def examples(self, split: str) -> list[Example]:
        """The pairs of a split."""
        return list(read_pairs(self.files(split)))

    def config(self) -> DataConfig:
        """What a run file says of it."""
        train, valid = (tuple(map(str, self.files(split))) for split in ("train", "valid"))
        return DataConfig(
            train=train, valid=valid, source_language=self.source, target_language=self.target
        )
