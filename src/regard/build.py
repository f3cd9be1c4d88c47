"""From a config to objects: the one place that knows both."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from regard.bounded import check_own
from regard.bundled import run_folder
from regard.config import RunConfig, read_config, write_config
from regard.data.alignment import read_aligned
from regard.data.batching import Batches
from regard.data.config import DataConfig
from regard.data.corpus import Example, read_pairs
from regard.data.holdout import find_threshold, split_off
from regard.data.store import Store, checksum, store_key
from regard.errors import ConfigError, DataError, ModelFileError
from regard.machine import choose_device, has_fast_bf16
from regard.metrics.bleu import bleu
from regard.metrics.paper import PaperBleu, paper_language
from regard.metrics.scorer import Scorer
from regard.models.bahdanau import Bahdanau, BahdanauConfig
from regard.models.bytenet import ByteNet, ByteNetConfig
from regard.models.convs2s import ConvS2S, ConvS2SConfig
from regard.models.deep_att import DeepAtt, DeepAttConfig
from regard.models.gnmt import GNMT, GNMTConfig
from regard.models.interface import ModelConfig, Seq2Seq
from regard.models.luong import Luong, LuongConfig
from regard.models.seq2seq import EncoderDecoder, EncoderDecoderConfig
from regard.models.transformer import Transformer, TransformerConfig
from regard.nn.embedding import load_pretrained
from regard.sealed import sealing, verify
from regard.text.pair import TokeniserPair
from regard.text.tokeniser import SPACE_MARK
from regard.text.train import train_tokenisers
from regard.text.vectors import read_vectors
from regard.train.checkpoint import newest_checkpoint
from regard.train.trainer import Trainer
from regard.train.validation import Validator

ARCHITECTURES: dict[str, tuple[type[ModelConfig], Callable[[Any, int, int], Seq2Seq[Any]]]] = {
    "transformer": (TransformerConfig, Transformer),
    "seq2seq": (EncoderDecoderConfig, EncoderDecoder),
    "bahdanau": (BahdanauConfig, Bahdanau),
    "luong": (LuongConfig, Luong),
    "deep_att": (DeepAttConfig, DeepAtt),
    "gnmt": (GNMTConfig, GNMT),
    "bytenet": (ByteNetConfig, ByteNet),
    "convs2s": (ConvS2SConfig, ConvS2S),
}

RUN_FILE = "run.toml"
TOKENISER = "tokeniser"
CORPUS = "corpus.json"
CACHE = "cache"
EXTENDED = "extended"


@dataclass(frozen=True, slots=True)
class Run:
    """A run folder: what it was configured to be, and how it cuts text."""

    folder: Path
    config: RunConfig
    tokenisers: TokeniserPair


def create_run(folder: Path, config: RunConfig, tokenisers: TokeniserPair | None = None) -> Run:
    """Start a run folder: run file, tokenisers (learned unless given), checksums of the data."""
    if not config.data.train:
        raise ConfigError('data.train names no files; set it to ["train.fr", "train.en"], say')
    if tokenisers is None:
        tokenisers = train_tokenisers(
            config.text,
            (example.source for example in training_examples(config.data)),
            (example.target for example in training_examples(config.data)),
        )
    checksums = json.dumps(_checksums(config.data), ensure_ascii=False, indent=2)
    with sealing(folder) as temporary:
        (temporary / RUN_FILE).write_text(write_config(config), "utf-8")
        (temporary / CORPUS).write_text(checksums + "\n", "utf-8")
        tokenisers.save(temporary / TOKENISER)
    return Run(folder, config, tokenisers)


def extend_run(run: Run, steps: int) -> Run:
    """Let a run go on to more steps: `extended-N` holds its run file from then on.

    A folder of its own, because `run.toml` and the manifest beside it cannot both be replaced in
    one instant.

    Raises:
        ConfigError: they are not more than before.
    """
    train = run.config.train
    if steps <= train.steps:
        raise ConfigError(
            f"train.steps = {steps:,}: {run.folder} already has {train.steps:,}; give more"
        )
    config = replace(run.config, train=replace(train, steps=steps))
    with sealing(run.folder / f"{EXTENDED}-{steps}") as temporary:
        (temporary / RUN_FILE).write_text(write_config(config), "utf-8")
    return replace(run, config=config)


def open_run(folder: Path) -> Run:
    """Open a run folder and check it against its manifest.

    Args:
        folder: what `regard train` wrote, or the name of a model that came with the package.

    Raises:
        ModelFileError: it is missing, damaged or not a run folder.
    """
    folder = run_folder(folder)
    if not folder.is_dir():
        raise ModelFileError(f"{folder}: no such run folder; `regard train` makes one")
    verify(folder)
    described = newest_checkpoint(folder, EXTENDED) or folder
    for place in {folder, folder / TOKENISER, described}:
        if place.is_dir():
            check_own(place, folder)
    return Run(folder, read_config(described / RUN_FILE), TokeniserPair.load(folder / TOKENISER))


def build_model(config: ModelConfig, tokenisers: TokeniserPair) -> Seq2Seq[Any]:
    """The model that the config describes, with fresh weights from torch's random state."""
    _, architecture = ARCHITECTURES[config.arch]
    return architecture(config, len(tokenisers.source), len(tokenisers.target))


def build_trainer(run: Run) -> Trainer:
    """Everything a training needs, its data cut into ids and stored in the run folder.

    Raises:
        DataError: a file of the data is not what it was when the run folder was made.
    """
    config = run.config.train
    checksums = _checksums(run.config.data)
    _refuse_changed_data(run, checksums)
    torch.manual_seed(config.seed)
    device = choose_device(config.device)
    if config.precision == "bf16" and not has_fast_bf16(device):
        raise ConfigError(
            f'train.precision = "bf16" is slower than "fp32" on this {device}; set "fp32"'
        )
    model = build_model(run.config.model, run.tokenisers).to(device)
    model.recompute_blocks(config.recompute)
    _start_from_vectors(model, run)
    valid = list(validation_examples(run.config.data))
    validator = Validator(
        _batches(run, "valid", checksums, valid),
        valid,
        run.tokenisers,
        scorer=_validation_scorer(run.config),
        num_shown=config.show,
    )
    batches = _batches(run, "train", checksums, None)
    return Trainer(model, batches, validator, config, run.folder)


def _validation_scorer(config: RunConfig) -> Scorer | None:
    """What validations score translations by, if they make any."""
    if not config.train.validate_bleu:
        return None
    language = paper_language(config.data.target_language)
    return PaperBleu(language) if config.train.paper_bleu and language else bleu()


def _start_from_vectors(model: Seq2Seq[Any], run: Run) -> None:
    """Fill embeddings with pretrained word vectors, where the run names a file of them.

    A piece that begins a word, ▁gare, takes the vector of the word, gare.
    """
    for embedder, tokeniser, path in (
        ("source", run.tokenisers.source, run.config.train.source_vectors),
        ("target", run.tokenisers.target, run.config.train.target_vectors),
    ):
        if path:
            pieces = [tokeniser.piece(id).removeprefix(SPACE_MARK) for id in range(len(tokeniser))]
            vectors = read_vectors(Path(path), set(pieces))
            tensors = {word: torch.from_numpy(vector) for word, vector in vectors.items()}
            load_pretrained(model.get_submodule(f"{embedder}.embedding"), tensors, pieces)


def training_examples(config: DataConfig, *, has_links: bool = False) -> Iterator[Example]:
    """The pairs to learn from: all of `train`, or what is not held out of it.

    Args:
        config: names the files.
        has_links: whether each pair has its links from `alignment`.
    """
    pairs = read_aligned(config.train, config.alignment) if has_links else read_pairs(config.train)
    if config.valid:
        return pairs
    threshold = find_threshold(read_pairs(config.train), config.valid_size)
    return split_off(pairs, threshold, is_held_out=False)


def validation_examples(config: DataConfig) -> Iterator[Example]:
    """The pairs to be measured on: all of `valid`, or what is held out of `train`."""
    if config.valid:
        return read_pairs(config.valid)
    threshold = find_threshold(read_pairs(config.train), config.valid_size)
    return split_off(read_pairs(config.train), threshold, is_held_out=True)


def _checksums(config: DataConfig) -> dict[str, str]:
    checksums = {}
    for file in (*config.train, *config.valid, *filter(None, [config.alignment])):
        try:
            checksums[file] = checksum(Path(file))
        except OSError as error:
            raise DataError(f"{file} cannot be read: {error.strerror}") from error
    return checksums


def _refuse_changed_data(run: Run, checksums: dict[str, str]) -> None:
    path = run.folder / CORPUS
    if not path.exists():  # a folder that was imported has none
        return
    before = json.loads(path.read_text("utf-8"))
    for file, found in checksums.items():
        if found != before[file]:
            raise DataError(
                f"{file} is not the file that {run.folder} began with (SHA-256 differs); restore "
                "it, or start another run with --init-from"
            )


def _batches(
    run: Run, split: str, checksums: dict[str, str], examples: Sequence[Example] | None
) -> Batches:
    data, train = run.config.data, run.config.train
    is_train = split == "train"
    files = data.train if is_train or not data.valid else data.valid
    noise, names = (data.noise, data.names) if is_train else (0.0, 0.0)
    has_text = noise > 0 or names > 0
    has_links = is_train and train.guided_alignment > 0
    key = store_key(
        [checksums[file] for file in (*files, *([data.alignment] if has_links else []))],
        run.tokenisers,
        settings=f"{split} {'' if data.valid else data.valid_size}",
        has_text=has_text,
    )
    store = Store.open_or_build(
        run.folder / CACHE / split,
        lambda: training_examples(data, has_links=has_links) if examples is None else examples,
        run.tokenisers,
        key=key,
        has_text=has_text,
        has_links=has_links,
    )
    return Batches(
        store,
        run.tokenisers,
        batch_tokens=train.batch_tokens,
        seed=train.seed,
        max_length=train.max_length if is_train else None,
        noise=noise,
        names=names,
    )
