"""`regard convert`: to and from the folders of other programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from regard.cli.progress import warn

if TYPE_CHECKING:
    from regard.convert.parcel import Parcel

Format = Literal["marian", "ctranslate2", "regard"]

# The one checkpoint of an imported run; no validation has seen it.
IMPORTED = "best-0"


def convert(
    source: Path,
    target: Path,
    /,
    *,
    to: Format,
    checkpoint: str | None = None,
) -> None:
    """Turn a run folder into another program's, or a Marian folder into a run folder.

    What the source is, is found out: a run folder, or a folder of Hugging Face's MarianMTModel
    with model.safetensors. CTranslate2's format is written only.

    Args:
        source: the folder to read.
        target: the folder to write; it must not exist.
        to: marian, ctranslate2 or regard.
        checkpoint: which weights of a run folder: best, averaged, last, or a folder's name.
    """
    from regard.convert.ctranslate import write_ctranslate2
    from regard.convert.marian import write_marian

    parcel = _read(source, checkpoint)
    match to:
        case "marian":
            write_marian(parcel, target)
        case "ctranslate2":
            write_ctranslate2(parcel, target)
        case "regard":
            write_run(parcel, target)
    print(f"{target}: {sum(t.numel() for t in parcel.tensors.values()):,} parameters")
    for line in _losses(parcel, to):
        warn(line)


def _read(folder: Path, checkpoint: str | None) -> "Parcel":
    from regard.build import RUN_FILE
    from regard.convert.marian import is_marian, read_marian
    from regard.errors import ConfigError, ModelFileError

    if (folder / RUN_FILE).is_file():
        return _read_run(folder, checkpoint)
    if checkpoint is not None:
        raise ConfigError(f"--checkpoint {checkpoint}: {folder} is not a run folder")
    if is_marian(folder):
        return read_marian(folder)
    raise ModelFileError(
        f"{folder}: neither a run folder (no {RUN_FILE}) nor a Marian folder (no config.json)"
    )


def _read_run(folder: Path, checkpoint: str | None) -> "Parcel":
    from regard.build import open_run
    from regard.convert.parcel import Parcel
    from regard.errors import ConfigError
    from regard.loading import choose_checkpoint, load_model
    from regard.models.transformer import TransformerConfig
    from regard.train.checkpoint import model_tensors

    run = open_run(folder)
    if not isinstance(run.config.model, TransformerConfig):
        raise ConfigError(
            f'{folder}: model.arch = "{run.config.model.arch}"; only a transformer is converted'
        )
    model = load_model(run, choose_checkpoint(run, checkpoint, warn))
    return Parcel(
        model=run.config.model,
        tensors=model_tensors(model),
        tokenisers=run.tokenisers,
        decoding=run.config.decoding,
        source_language=run.config.data.source_language,
        target_language=run.config.data.target_language,
    )


def write_run(parcel: "Parcel", folder: Path) -> None:
    from safetensors.torch import save_file

    from regard.build import RUN_FILE, TOKENISER
    from regard.config import RunConfig, write_config
    from regard.data.config import DataConfig
    from regard.sealed import sealing
    from regard.text.config import TextConfig
    from regard.train.checkpoint import WEIGHTS

    tokenisers = parcel.tokenisers
    config = RunConfig(
        data=DataConfig(
            source_language=parcel.source_language, target_language=parcel.target_language
        ),
        text=TextConfig(
            kind=tokenisers.source.kind,
            vocab_size=max(len(tokenisers.source), len(tokenisers.target)),
            # Two SentencePiece models may number their pieces by one vocabulary.
            joint=tokenisers.joint or parcel.model.share_embeddings == "all",
        ),
        model=parcel.model,
        decoding=parcel.decoding,
    )
    with sealing(folder) as temporary:
        (temporary / RUN_FILE).write_text(write_config(config), "utf-8")
        tokenisers.save(temporary / TOKENISER)
        with sealing(temporary / IMPORTED) as weights:
            save_file(parcel.tensors, weights / WEIGHTS)


def _losses(parcel: "Parcel", to: Format) -> list[str]:
    """What the other program will not do as Regard does."""
    lines = []
    if to != "regard" and parcel.tokenisers.source.normalise != "none":
        form = {"nfkc": "to NFKC", "lower": "to lower case"}[parcel.tokenisers.source.normalise]
        lines.append(f"the other program does not bring text {form}; do so before it")
    if to == "marian" and parcel.decoding.penalty != "length":
        lines.append("Marian has no GNMT length penalty; generation_config.json says length ** 1.0")
    if to != "regard" and parcel.decoding.coverage:
        lines.append("the other program has no coverage penalty; it ranks by length alone")
    if to != "regard" and parcel.decoding.consensus:
        lines.append("the other program takes the most probable translation, no consensus")
    return lines
