"""Three ways to translate with the same weights: Regard, transformers' generate, CTranslate2.

A stage is a folder with the weights in the formats of all three, and the sentences as ids.
"""

import multiprocessing
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from regard.cli.convert import write_run
from regard.convert.ctranslate import write_ctranslate2
from regard.convert.folder import read_json, write_json
from regard.convert.marian import WEIGHTS, marian_tensors
from regard.convert.marian_config import CONFIG, config_json
from regard.convert.parcel import Parcel
from regard.decoding.config import DecodingConfig
from regard.decoding.search import requests
from regard.models.transformer import PRESETS, Transformer
from regard.text.pair import TokeniserPair
from regard.text.words import Words
from regard.train.checkpoint import model_tensors

Ids = list[int]
Decode = Callable[[Sequence[Ids]], int]
"""Translates all sentences and says how many tokens it wrote, ends included."""

VOCABULARY = {"tiny": 8000, "small": 8000, "base": 32_000}
FIXED_LENGTH = 20
"""Steps of a random model, which hardly ever ends a sentence by itself."""
PIECES = 32
"""Of a long sentence: Regard counts pieces where the others count sentences."""
RUN, MARIAN, CTRANSLATE2, JOB = "run", "marian", "ctranslate2", "job.json"
SHORTLIST = "shortlist.safetensors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a system is tried with.

    Attributes:
        batch: sentences decoded together.
        workers: sentences are shared out among so many.
        threads: of each worker.
    """

    batch: int = 64
    workers: int = 1
    threads: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is decoded, besides the weights.

    Attributes:
        sources: ids of each sentence, without the end.
        pieces: the same as CTranslate2 wants them.
        length: steps of every sentence; None where each ends by itself.
        pad: id of the padding.
        end: id of the end.
    """

    sources: list[Ids]
    pieces: list[list[str]]
    length: int | None
    pad: int
    end: int

    @classmethod
    def read(cls, stage: Path) -> "Job":
        return cls(**read_json(stage / JOB))

    def decoding(self, beam: int, batch: int) -> DecodingConfig:
        """Regard's search as the others do it: over when `beam` hypotheses have ended."""
        config = DecodingConfig(beam=beam, early_exit=True, batch_tokens=batch * PIECES)
        if self.length is None:
            return config
        return replace(config, max_ratio=0.0, max_extra=self.length)


# --------------------------------------------------------------------------------------------------
# Stages
# --------------------------------------------------------------------------------------------------


def stage_random(config: str, num_sentences: int, folder: Path, seed: int = 1) -> None:
    """Random weights, and sentences of 10 to 30 random words."""
    torch.manual_seed(seed)
    words = Words([f" w{number}" for number in range(VOCABULARY[config] - 4)])
    model = PRESETS[config]
    transformer = Transformer(model, len(words), len(words))
    tensors = model_tensors(transformer)
    parcel = Parcel(model=model, tensors=tensors, tokenisers=TokeniserPair(words, words))
    lengths = torch.randint(10, 31, (num_sentences,)).tolist()
    sources = [torch.randint(4, len(words), (length,)).tolist() for length in lengths]
    folder.mkdir(parents=True)
    write_ctranslate2(parcel, folder / CTRANSLATE2)
    _write_marian_model(parcel, folder / MARIAN)
    write_run(parcel, folder / RUN)
    _write_job(folder, sources, words, FIXED_LENGTH)


def stage_trained(run: Path, file: Path, folder: Path, shortlist: Path | None) -> None:
    """A trained model's own weights, the sentences of a file, and its shortlist, if it has one.

    Marian, and so transformers, knows no model with norms before the sub-layers; a line says so.
    """
    from regard.build import open_run
    from regard.cli.app import main

    folder.mkdir(parents=True)
    with redirect_stdout(sys.stderr):
        if main(["convert", str(run), str(folder / CTRANSLATE2), "--to", "ctranslate2"]):
            raise SystemExit(f"{run} cannot be converted")
        main(["convert", str(run), str(folder / MARIAN), "--to", "marian"])
    (folder / RUN).symlink_to(run.resolve())
    if shortlist:
        (folder / SHORTLIST).symlink_to(shortlist.resolve())
    tokeniser = open_run(run).tokenisers.source
    sources = tokeniser.encode_ids(file.read_text("utf-8").splitlines())
    _write_job(folder, sources, tokeniser, None)


def _write_job(folder: Path, sources: list[Ids], tokeniser: Any, length: int | None) -> None:
    pieces = [[tokeniser.piece(id) for id in ids] for ids in sources]
    job = Job(sources=sources, pieces=pieces, length=length, pad=tokeniser.pad, end=tokeniser.eos)
    write_json(folder / JOB, asdict(job))


def _write_marian_model(parcel: Parcel, folder: Path) -> None:
    """The model of a Marian folder; made-up words have no SentencePiece files."""
    folder.mkdir()
    write_json(folder / CONFIG, config_json(parcel))
    save_file(marian_tensors(parcel), folder / WEIGHTS, metadata={"format": "pt"})


# --------------------------------------------------------------------------------------------------
# Systems
# --------------------------------------------------------------------------------------------------


def regard(
    stage: Path, beam: int, settings: Settings, *, int8: bool = False, shortlist: bool = False
) -> Decode:
    """Regard's search and workers as `regard translate` runs them, from ids to ids."""
    from regard.api import load

    torch.set_num_threads(settings.threads)
    narrow = stage / SHORTLIST if shortlist else None
    searcher = load(stage / RUN, device="cpu", int8=int8, shortlist=narrow).searcher
    config = Job.read(stage).decoding(beam, settings.batch)

    def run(sources: Sequence[Ids]) -> int:
        asked = list(requests(sources, searcher.specials, config, workers=settings.workers))
        found = searcher.results(asked, config, is_watched=False, workers=settings.workers)
        sentences = [hypotheses for _, results in found for hypotheses in results]
        return sum(len(best.log_probs) for (best, _), *_ in sentences)

    return run


def transformers(stage: Path, beam: int, settings: Settings) -> Decode:
    """MarianMTModel.generate over batches of similar length."""
    from transformers import MarianMTModel

    job = Job.read(stage)
    torch.set_num_threads(1 if settings.workers > 1 else settings.threads)
    model: Any = MarianMTModel.from_pretrained(stage / MARIAN)
    model.eval()
    lengths = (
        {"max_new_tokens": 200}
        if job.length is None
        else {"min_new_tokens": job.length, "max_new_tokens": job.length}
    )

    def generate(sources: Sequence[Ids]) -> int:
        width = max(map(len, sources)) + 1
        ids = torch.full((len(sources), width), job.pad)
        for row, source in enumerate(sources):
            ids[row, : len(source) + 1] = torch.tensor([*source, job.end])
        mask = (torch.arange(width) <= torch.tensor([len(s) for s in sources])[:, None]).long()
        with torch.inference_mode():
            found = model.generate(
                input_ids=ids,
                attention_mask=mask,
                num_beams=beam,
                do_sample=False,
                early_stopping=True,
                **lengths,
            )
        return int((found[:, 1:] != job.pad).sum())

    if settings.workers == 1:
        return lambda sources: sum(map(generate, _batches(sources, settings.batch)))
    return _shared(generate, settings)


def ctranslate2(
    stage: Path, beam: int, settings: Settings, *, compute_type: str = "float32"
) -> Decode:
    """CTranslate2's own batching, by sentences, over its own workers."""
    import ctranslate2 as library

    job = Job.read(stage)
    translator = library.Translator(
        str(stage / CTRANSLATE2),
        compute_type=compute_type,
        inter_threads=settings.workers,
        intra_threads=settings.threads,
    )
    pieces = {tuple(ids): words for ids, words in zip(job.sources, job.pieces, strict=True)}
    length = job.length or 200

    def run(sources: Sequence[Ids]) -> int:
        found = translator.translate_batch(
            [pieces[tuple(source)] for source in sources],
            beam_size=beam,
            max_batch_size=settings.batch,
            min_decoding_length=job.length or 0,
            max_decoding_length=length,
        )
        ends = 0 if job.length else len(found)
        return ends + sum(len(each.hypotheses[0]) for each in found)

    return run


_generate: Callable[[Sequence[Ids]], int]


def _shared(generate: Callable[[Sequence[Ids]], int], settings: Settings) -> Decode:
    """Batches shared out among forked processes of one thread each."""
    global _generate
    _generate = generate  # what a forked process finds without being sent it
    pool = ProcessPoolExecutor(settings.workers, multiprocessing.get_context("fork"))
    return lambda sources: sum(pool.map(_call, _batches(sources, settings.batch)))


def _call(sources: Sequence[Ids]) -> int:
    torch.set_num_threads(1)
    return _generate(sources)


def _batches(sources: Sequence[Ids], size: int) -> list[list[Ids]]:
    """Sentences of similar length together, the longest first."""
    ordered = sorted(sources, key=len, reverse=True)
    return [ordered[i : i + size] for i in range(0, len(ordered), size)]


def _one_core_each(*batches: int) -> list[Settings]:
    return [Settings(batch=batch, workers=2, threads=1) for batch in batches]


@dataclass(frozen=True, slots=True)
class System:
    """A rival, and what it is tried with before it is measured at its best."""

    open: Callable[[Path, int, Settings], Decode]
    settings: Sequence[Settings]


_ONE_PROCESS = [Settings(threads=2), Settings(batch=128, threads=2), Settings(batch=32, threads=2)]

SYSTEMS: dict[str, System] = {
    "regard": System(regard, _one_core_each(64, 32, 128)),
    "regard_int8": System(lambda *a: regard(*a, int8=True), _one_core_each(64, 32, 128)),
    "regard_shortlist": System(
        lambda *a: regard(*a, int8=True, shortlist=True), _one_core_each(64, 32, 128)
    ),
    # With a pool of processes around it, which is the benchmark's; and as it comes.
    "transformers": System(transformers, [*_one_core_each(32, 64, 128), *_ONE_PROCESS]),
    "transformers_alone": System(transformers, _ONE_PROCESS),
    "ctranslate2": System(
        ctranslate2, [*_one_core_each(64, 32, 16, 128), Settings(batch=64, threads=2)]
    ),
    "ctranslate2_int8": System(
        lambda *a: ctranslate2(*a, compute_type="int8"),
        [*_one_core_each(64, 32, 16, 128), Settings(batch=64, threads=2)],
    ),
}
LATENCY_SETTINGS = [Settings(batch=1, threads=1), Settings(batch=1, threads=2)]
