"""One trained model in three programs: the same logits, and the same 500 translations."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from regard.build import build_trainer, create_run
from regard.cli.app import main
from regard.config import RunConfig
from regard.convert.marian import read_marian
from regard.convert.parcel import Parcel
from regard.data.config import DataConfig
from regard.data.phrasebook import phrasebook
from regard.decoding.hypothesis import Hypothesis
from regard.loading import choose_checkpoint
from regard.models.transformer import TransformerConfig
from regard.text.config import TextConfig
from regard.train.checkpoint import WEIGHTS
from regard.train.config import TrainConfig

from .parcels import BEAM, best_of, logits_of

pytestmark = pytest.mark.slow

TOLERANCE = 1e-4
NUM_SENTENCES = 500


@dataclass(frozen=True)
class Trained:
    """A model of the phrasebook in three formats, and sentences that it has not seen."""

    parcel: Parcel
    marian: Path
    ctranslate2: Path
    sources: list[list[int]]
    targets: list[list[int]]

    @property
    def found(self) -> list[Hypothesis]:
        return best_of(self.parcel, self.sources)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("phrasebook")
    splits = phrasebook(size=15_000)
    french, english = folder / "train.fr", folder / "train.en"
    french.write_text("".join(f"{pair.source}\n" for pair in splits.train), "utf-8")
    english.write_text("".join(f"{pair.target}\n" for pair in splits.train), "utf-8")
    shape = TransformerConfig(d_model=64, heads=4, d_ff=128, encoder_layers=2, decoder_layers=2)
    config = RunConfig(
        data=DataConfig(train=(str(french), str(english)), valid_size=100),
        text=TextConfig(vocab_size=1000),
        model=shape,
        train=TrainConfig(
            steps=600, batch_tokens=2048, learning_rate=3e-3, warmup=200, validate_every=600
        ),
        decoding=BEAM,
    )
    run = create_run(folder / "run", config)
    build_trainer(run).train()
    for name in ("marian", "ctranslate2"):
        assert main(["convert", str(run.folder), str(folder / name), "--to", name]) == 0
    parcel = Parcel(
        model=shape,
        tensors=load_file(choose_checkpoint(run) / WEIGHTS),
        tokenisers=run.tokenisers,
        decoding=BEAM,
    )
    unseen = splits.test[:NUM_SENTENCES]
    return Trained(
        parcel,
        folder / "marian",
        folder / "ctranslate2",
        run.tokenisers.source.encode_ids([pair.source for pair in unseen]),
        run.tokenisers.target.encode_ids([pair.target for pair in unseen]),
    )


def test_it_has_learned_to_translate(trained: Trained) -> None:
    right = [list(h.tokens) == t for h, t in zip(trained.found, trained.targets, strict=True)]
    assert sum(right) > NUM_SENTENCES / 4


@pytest.mark.parametrize("back", [False, True], ids=["exported", "imported again"])
@torch.inference_mode()
def test_the_logits_are_those_of_transformers(
    transformers: Any, trained: Trained, back: bool
) -> None:
    model = transformers.MarianMTModel.from_pretrained(trained.marian).eval()
    parcel = read_marian(trained.marian) if back else trained.parcel
    source, target = parcel.tokenisers.source, parcel.tokenisers.target
    for pieces, wanted in zip(trained.sources[:50], trained.targets[:50], strict=True):
        ids = torch.tensor([[*pieces, source.eos]]), torch.tensor([[target.bos, *wanted]])
        theirs = model(input_ids=ids[0], decoder_input_ids=ids[1]).logits
        torch.testing.assert_close(logits_of(parcel, *ids), theirs, atol=TOLERANCE, rtol=0)


def same_but_for_ties(
    ours: list[Hypothesis], theirs: list[list[int]], scores: list[float]
) -> list[int]:
    """The sentences whose translations differ in more than which of two equals was taken."""
    return [
        number
        for number, (mine, tokens, score) in enumerate(zip(ours, theirs, scores, strict=True))
        if list(mine.tokens) != tokens and abs(mine.score - score) >= TOLERANCE
    ]


def test_transformers_finds_the_same_500_translations(transformers: Any, trained: Trained) -> None:
    model = transformers.MarianMTModel.from_pretrained(trained.marian).eval()
    end = trained.parcel.tokenisers.source.eos
    theirs, scores = [], []
    for pieces in trained.sources:
        found = model.generate(
            input_ids=torch.tensor([[*pieces, end]]),
            return_dict_in_generate=True,
            output_scores=True,
        )
        theirs.append(found.sequences[0, 1:-1].tolist())
        scores.append(found.sequences_scores.item())
    assert same_but_for_ties(trained.found, theirs, scores) == []


def test_ctranslate2_finds_the_same_500_translations(ctranslate2: Any, trained: Trained) -> None:
    source, target = trained.parcel.tokenisers.source, trained.parcel.tokenisers.target
    ids = {target.piece(id): id for id in range(len(target))}
    translator = ctranslate2.Translator(
        str(trained.ctranslate2), compute_type="float32", intra_threads=1
    )
    found = translator.translate_batch(
        [[source.piece(id) for id in pieces] for pieces in trained.sources],
        beam_size=BEAM.beam,
        length_penalty=BEAM.alpha,
        min_decoding_length=0,
        return_scores=True,
    )
    theirs = [[ids[piece] for piece in result.hypotheses[0]] for result in found]
    scores = [result.scores[0] for result in found]
    assert same_but_for_ties(trained.found, theirs, scores) == []
