"""Every architecture trains, is cut among cores, resumes, is saved, loaded and looked at."""

import dataclasses
from functools import partial
from pathlib import Path

import pytest
import torch

from regard.api import load
from regard.build import ARCHITECTURES, build_trainer, create_run, open_run
from regard.cli.app import main
from regard.cli.info import describe
from regard.config import RunConfig
from regard.models.interface import ModelConfig
from regard.text.pair import TokeniserPair
from regard.train.cores import Cores
from regard.train.objective import batch_loss
from regard.train.shards import Shards, learn
from regard.train.trainer import Trainer
from tests.little_corpus import little_run, write_corpus
from tests.models.architectures import VARIATIONS
from tests.train.recording import Trained, equal, train_once

# The first variation of each architecture; the Transformer's has its own tests.
SHAPES: dict[str, ModelConfig] = {}
for shape in VARIATIONS.values():
    if shape.arch != "transformer":
        SHAPES.setdefault(shape.arch, dataclasses.replace(shape, dropout=0.2))


@pytest.fixture(scope="module")
def plain_config(tmp_path_factory: pytest.TempPathFactory) -> RunConfig:
    corpus = write_corpus(tmp_path_factory.mktemp("corpus"))
    quick = {"validate_bleu": False, "show": 0, "average": 0, "save_every": 2, "steps": 4}
    return little_run(corpus, **quick)


@pytest.fixture(scope="module")
def tokenisers(plain_config: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> TokeniserPair:
    return create_run(tmp_path_factory.mktemp("first") / "run", plain_config).tokenisers


@pytest.fixture(scope="module", params=SHAPES)
def trainer(
    request: pytest.FixtureRequest,
    plain_config: RunConfig,
    tokenisers: TokeniserPair,
    tmp_path_factory: pytest.TempPathFactory,
) -> Trainer:
    """What has trained an architecture for a few steps."""
    config = dataclasses.replace(plain_config, model=SHAPES[request.param])
    run = create_run(tmp_path_factory.mktemp(request.param) / "run", config, tokenisers)
    trainer = build_trainer(run)
    trainer.train()
    return trainer


def test_every_architecture_is_tested_here() -> None:
    assert SHAPES.keys() == ARCHITECTURES.keys() - {"transformer"}


def test_a_resumed_training_equals_an_uninterrupted_one(trainer: Trainer, tmp_path: Path) -> None:
    run = open_run(trainer.run)
    again = create_run(tmp_path / "run", run.config, run.tokenisers)
    train_once(again, stop_after=2)
    torch.manual_seed(7)
    resumed = train_once(again)
    assert equal(resumed.tensors, Trained(trainer).tensors)


def test_a_saved_model_comes_back_and_is_described(trainer: Trainer) -> None:
    loaded = load(trainer.run, checkpoint="last", device="cpu").models[0].state_dict()
    assert equal(dict(loaded), dict(trainer.model.state_dict()))
    described = describe(trainer.run)
    assert described.parameters == trainer.model.num_parameters()
    assert described.summary == open_run(trainer.run).config.model.summary()


def test_parts_of_a_batch_add_up_to_the_whole(trainer: Trainer) -> None:
    (batch, *_) = trainer.batches.epoch(0, 0)
    parameters = list(trainer.model.parameters())
    loss = partial(batch_loss, trainer.model, smoothing=0.1)
    shards = Shards(loss, parameters, Cores(2))
    trainer.model.eval()
    whole, parts = learn(loss, parameters, batch, 0.01), shards.learn(batch, 0.01)
    torch.testing.assert_close(parts.gradients, whole.gradients, atol=1e-5, rtol=1e-4)
    trainer.model.train()
    torch.manual_seed(3)
    first = shards.learn(batch, 0.01)
    torch.manual_seed(3)
    again = shards.learn(batch, 0.01)
    assert again.smoothed == first.smoothed != whole.smoothed


def test_a_run_is_looked_at_or_says_why_not(
    trainer: Trainer, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["look", "Jane visite la gare.", "--model", str(trainer.run), "--device", "cpu"]
    code = main(arguments)
    captured = capsys.readouterr()
    if open_run(trainer.run).config.model.arch in ("seq2seq", "bytenet"):
        assert code == 2
        assert "this model has no attention; there is nothing to look at" in captured.err
    else:
        assert code == 0
        assert "Cross-attention" in captured.out
        assert main([*arguments, "--kind", "encoder"]) == 2
        assert "this model has no encoder attention; it has cross" in capsys.readouterr().err
