"""The two tokenisers of a translation model, and their files."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Le
from pydantic import TypeAdapter, ValidationError

from regard.bounded import read_bounded
from regard.errors import ModelFileError
from regard.text.byte import Bytes
from regard.text.characters import Characters
from regard.text.kind import Kind
from regard.text.marian import MarianPieces
from regard.text.normal import Form
from regard.text.sentencepieces import SentencePieces
from regard.text.tokeniser import Tokeniser
from regard.text.words import Words

INDEX = "tokeniser.json"

# The largest vocabularies in use, of some 250,000 pieces, have files of 10 MB.
MAX_FILE_BYTES = 64_000_000


@dataclass(frozen=True, kw_only=True)
class _Index:
    """What `tokeniser.json` holds."""

    kind: Kind
    joint: bool
    sampling: Annotated[float, Ge(0), Le(1)]
    normalise: Form


@dataclass(frozen=True)
class TokeniserPair:
    """The tokeniser of each side; a joint one is the same object twice."""

    source: Tokeniser
    target: Tokeniser

    @property
    def joint(self) -> bool:
        return self.source is self.target

    @property
    def sampling(self) -> float:
        return self.source.sampling

    def fingerprint(self) -> str:
        """SHA-256 of all that decides which ids a text gets."""
        digest = hashlib.sha256()
        for side in (self.source, self.target):
            content = side.to_bytes()
            digest.update(f"{side.kind} {side.normalise} {len(content)} ".encode())
            digest.update(content)
        return digest.hexdigest()

    def save(self, folder: Path) -> None:
        """Write `tokeniser.json` and the file of each tokeniser."""
        folder.mkdir(parents=True, exist_ok=True)
        for side, tokeniser in self._sides().items():
            tokeniser.save(folder / _file_name(side, tokeniser.kind))
        index = _Index(
            kind=self.source.kind,
            joint=self.joint,
            sampling=self.sampling,
            normalise=self.source.normalise,
        )
        (folder / INDEX).write_text(json.dumps(asdict(index), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "TokeniserPair":
        """Read what `save` wrote.

        Raises:
            ModelFileError: naming the file that is missing, damaged or unknown to us.
        """
        index = _read_index(folder / INDEX)
        if index.joint:
            joint = _load_one(folder, "joint", index)
            return cls(joint, joint)
        return cls(_load_one(folder, "source", index), _load_one(folder, "target", index))

    def _sides(self) -> dict[str, Tokeniser]:
        if self.joint:
            return {"joint": self.source}
        return {"source": self.source, "target": self.target}


def _file_name(side: str, kind: Kind) -> str:
    return f"{side}.model" if kind in ("bpe", "unigram") else f"{side}.json"


def _read_index(path: Path) -> _Index:
    try:
        return TypeAdapter(_Index).validate_json(read_bounded(path, MAX_FILE_BYTES), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ModelFileError(
            f"{path}: {where + ': ' if where else ''}{first['msg']}; restore the file or train "
            f"the tokeniser again"
        ) from None


def _load_one(folder: Path, side: str, index: _Index) -> Tokeniser:
    path = folder / _file_name(side, index.kind)
    content = read_bounded(path, MAX_FILE_BYTES)
    form = index.normalise
    try:
        match index.kind:
            case "bpe" | "unigram":
                return SentencePieces(content, index.kind, sampling=index.sampling, normalise=form)
            case "words":
                return Words.from_bytes(content, normalise=form)
            case "characters":
                return Characters.from_bytes(content, normalise=form)
            case "bytes":
                return Bytes(normalise=form)
            case "marian":
                return MarianPieces.from_bytes(content, normalise=form)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
