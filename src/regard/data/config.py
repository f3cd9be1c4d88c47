"""Which sentences a run learns from and is measured on."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt, Le
from typing_extensions import Doc

from regard.errors import ConfigError

Files = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """The corpora of a run: two parallel files, or one TSV or JSONL, gzipped or not."""

    train: Annotated[Files, Doc("source and target file, or one .tsv or .jsonl")] = ()
    valid: Annotated[Files, Doc("the same for validation; empty holds some of train out")] = ()
    valid_size: Annotated[int, Gt(0), Doc("how many pairs are held out where valid is empty")] = 500
    alignment: Annotated[
        str, Doc("links between the words of train (`regard align`), for train.guided_alignment")
    ] = ""
    noise: Annotated[
        float,
        Ge(0),
        Le(1),
        Doc(
            "how many training sentences are spoilt, anew in every epoch, as people spoil them: "
            "accents missing, capitals, typos, no stop, two on a line (try 0.2); 0 = off"
        ),
    ] = 0.0
    names: Annotated[
        float,
        Ge(0),
        Le(1),
        Doc(
            "how many training pairs get another name or number, anew in every epoch, where both "
            "sides have the same one, so that such are copied (try 0.3); 0 = off"
        ),
    ] = 0.0
    source_language: Annotated[str, Doc("for people and for splitting sentences")] = ""
    target_language: Annotated[str, Doc("see source_language")] = ""

    def __post_init__(self) -> None:
        for name, files in (("train", self.train), ("valid", self.valid)):
            if len(files) > 2:
                raise ConfigError(
                    f"data.{name} names {len(files)} files; expected a source and a target file, "
                    "or one .tsv or .jsonl"
                )
