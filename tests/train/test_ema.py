"""The moving average follows its formula, changes no training, and is what is kept for use."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from regard.build import build_trainer, create_run, open_run
from regard.config import with_overrides
from regard.errors import ConfigError, ModelFileError
from regard.loading import choose_checkpoint
from regard.models.transformer import Transformer, TransformerConfig
from regard.shapes import Tensor
from regard.train.checkpoint import STATE, WEIGHTS, checkpoints, model_tensors, read_scores
from regard.train.config import TrainConfig
from regard.train.ema import MovingAverage
from regard.train.trainer import Trainer
from tests.little_corpus import little_run, write_corpus
from tests.train.recording import Recorder, equal, everything_random, train_in_parts

DECAY = 0.6


def small_model(**settings: Any) -> Transformer:
    config = TransformerConfig(
        d_model=8, heads=2, d_ff=8, encoder_layers=1, decoder_layers=1, **settings
    )
    return Transformer(config, 11, 11)


def clones(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in tensors.items()}


# ------------------------------------------------------------------------------ the formula


@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_the_average_follows_the_formula(norm: str) -> None:
    torch.manual_seed(0)
    model = small_model(norm=norm)
    average = MovingAverage(model, DECAY)
    expected = clones(model_tensors(model))
    decays = []
    for t in range(1, 20):
        for tensor in model_tensors(model).values():
            tensor.add_(torch.randn_like(tensor))
        average.follow(t)
        d = min(DECAY, (1 + t) / (10 + t))
        decays.append(d)
        for name, tensor in model_tensors(model).items():
            expected[name] = d * expected[name] + (1 - d) * tensor
    assert decays[0] < DECAY == decays[-1]  # both sides of the warm-up were seen
    torch.testing.assert_close(model_tensors(average.model), expected)


def test_the_average_of_weights_that_rest_is_these_weights() -> None:
    model = small_model()
    average = MovingAverage(model, 0.999)
    for step in range(1, 5):
        average.follow(step)
    assert equal(model_tensors(average.model), model_tensors(model))


def test_the_beginning_is_soon_forgotten() -> None:
    """After t steps of warm-up the first weights count for Π (1 + i) / (10 + i)."""
    model = small_model()
    average = MovingAverage(model, 0.9999)
    model.output.weight.data.fill_(0.0)
    average.model.output.weight.data.fill_(1.0)
    for step in range(1, 31):
        average.follow(step)
    assert float(average.model.output.weight.detach().max()) < 1e-4


def test_shared_embeddings_stay_shared() -> None:
    model = MovingAverage(small_model(share_embeddings="all"), DECAY).model
    assert model.output.weight is model.get_parameter("source.embedding.weight")


@pytest.mark.parametrize("decay", [-0.1, 1.0, 1.5])
def test_a_decay_out_of_range_is_refused(decay: float, tmp_path: Path) -> None:
    config = little_run(write_corpus(tmp_path))
    with pytest.raises(ConfigError, match=r"train\.ema"):
        with_overrides(config, [f"train.ema={decay}"])


# ------------------------------------------------------------------------------ in a training


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Trainer:
    place = tmp_path_factory.mktemp("unbroken")
    return train_in_parts(place / "run", everything_random(place, ema=DECAY)).trainer


@pytest.fixture
def make_trainer(tmp_path: Path) -> Callable[..., Trainer]:
    corpus = write_corpus(tmp_path)

    def make(name: str, **train: Any) -> Trainer:
        config = little_run(corpus, **{"validate_bleu": False, "show": 0, **train})
        model = dataclasses.replace(config.model, d_model=16, d_ff=16, dropout=0.2)
        return build_trainer(create_run(tmp_path / name, dataclasses.replace(config, model=model)))

    return make


def test_training_is_the_same_with_and_without(make_trainer: Callable[..., Trainer]) -> None:
    losses, weights = [], []
    for ema in (0.0, 0.9):
        trainer = make_trainer(f"run-{ema}", ema=ema, steps=8, validate_every=3, save_every=2)
        recorder = Recorder()
        trainer.observers.append(recorder)
        trainer.train()
        losses.append([(report.loss, report.nll) for report in recorder.steps])
        weights.append(load_file(trainer.run / "step-8" / WEIGHTS))
    assert losses[0] == losses[1]
    assert equal(*weights)


def test_the_average_is_what_is_validated_and_kept_as_best(
    make_trainer: Callable[..., Trainer],
) -> None:
    trainer = make_trainer("run", ema=0.9, steps=4, validate_every=4, average=0)
    trainer.train()
    assert trainer.averaged is not None
    kept = load_file(trainer.run / "best-4" / WEIGHTS)
    assert equal(kept, model_tensors(trainer.averaged))
    assert not equal(kept, model_tensors(trainer.model))
    scores, _ = trainer.validator(trainer.averaged, 4)
    assert read_scores(trainer.run / "best-4") == scores
    assert scores != trainer.validator(trainer.model, 4)[0]


def test_the_average_at_the_end_is_kept_as_averaged(unbroken: Trainer) -> None:
    (folder,) = checkpoints(unbroken.run, "averaged")
    assert unbroken.averaged is not None
    assert equal(load_file(folder / WEIGHTS), model_tensors(unbroken.averaged))
    assert read_scores(folder) == unbroken.validator(unbroken.averaged, 12)[0]


def test_one_checkpoint_is_enough_for_it(make_trainer: Callable[..., Trainer]) -> None:
    trainer = make_trainer("run", ema=0.9, steps=3)
    recorder = Recorder()
    trainer.observers.append(recorder)
    trainer.train()
    assert [folder.name for folder in checkpoints(trainer.run)] == ["step-3"]
    assert [folder.name for folder in checkpoints(trainer.run, "averaged")] == ["averaged-3"]
    assert recorder.messages[0].startswith("averaged every step: loss ")


def test_who_translates_with_the_run_folder_gets_averaged_weights(unbroken: Trainer) -> None:
    folder = choose_checkpoint(open_run(unbroken.run))
    assert folder.name.startswith(("best-", "averaged-"))


def test_a_training_that_starts_from_another_averages_from_there(
    unbroken: Trainer, make_trainer: Callable[..., Trainer]
) -> None:
    trainer = build_trainer(open_run(unbroken.run))
    trainer.run = make_trainer("started").run
    trainer.start_from(unbroken.run / "averaged-12")
    assert trainer.averaged is not None
    assert equal(model_tensors(trainer.averaged), load_file(unbroken.run / "averaged-12" / WEIGHTS))
    assert [folder.name for folder in checkpoints(trainer.run)] == ["step-0"]


# ------------------------------------------------------------------------------ resuming


def test_resumed_equals_unbroken(unbroken: Trainer, tmp_path: Path) -> None:
    config = everything_random(tmp_path, ema=DECAY)
    resumed = train_in_parts(tmp_path / "run", config, stops=[1, 7])
    assert unbroken.averaged is not None and resumed.trainer.averaged is not None
    assert equal(model_tensors(resumed.trainer.averaged), model_tensors(unbroken.averaged))
    assert equal(model_tensors(resumed.trainer.model), model_tensors(unbroken.model))
    kept = {f.parent.name: load_file(f) for f in unbroken.run.glob(f"*/{WEIGHTS}")}
    assert resumed.files.keys() == kept.keys()
    assert all(equal(resumed.files[name], kept[name]) for name in kept)


def test_the_average_is_in_the_state_of_a_checkpoint(unbroken: Trainer) -> None:
    state = load_file(unbroken.run / "step-12" / STATE)
    found = {k.removeprefix("average/"): t for k, t in state.items() if k.startswith("average/")}
    assert unbroken.averaged is not None
    assert equal(found, model_tensors(unbroken.averaged))


def test_a_checkpoint_without_an_average_is_refused(make_trainer: Callable[..., Trainer]) -> None:
    trainer = make_trainer("run", steps=1)
    trainer.train()
    trainer.moving_average = MovingAverage(trainer.model, DECAY)
    with pytest.raises(ModelFileError, match=r"state\.safetensors: tensor '.*' is missing"):
        trainer.resume()


def test_a_checkpoint_with_an_average_that_nobody_keeps_is_refused(
    make_trainer: Callable[..., Trainer],
) -> None:
    trainer = make_trainer("run", steps=1, ema=DECAY)
    trainer.train()
    trainer.moving_average = None
    with pytest.raises(ModelFileError, match=r"'average/.*' fits no parameter"):
        trainer.resume()


def test_it_is_off_unless_asked_for() -> None:
    assert TrainConfig().ema == 0
