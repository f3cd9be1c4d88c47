"""Guided alignment: what is added to the loss, its gradient, and what it teaches."""

import dataclasses
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.align.error_rate import error_rate
from regard.align.pharaoh import read_gold
from regard.build import Run, build_trainer, create_run
from regard.cli.app import main
from regard.config import RunConfig, with_overrides
from regard.data.batching import Batch
from regard.errors import ConfigError, DataError
from regard.lens.capture import capture
from regard.lens.words import align_words
from regard.models.interface import Seq2Seq
from regard.models.transformer import Transformer, TransformerConfig
from regard.shapes import Tensor
from regard.train import shards
from regard.train.checkpoint import model_tensors
from regard.train.config import TrainConfig
from regard.train.cores import Cores
from regard.train.guided import Guide, alignment_loss
from regard.train.loss import Loss
from regard.train.objective import batch_loss
from regard.train.shards import Shards, learn
from tests.little_corpus import little_run, sentences, write_corpus
from tests.models.architectures import VARIATIONS, VOCABULARY, tiny_model
from tests.train.recording import equal, everything_random, resumes_on_two_cores
from train_systems import make_batches

SMOOTHING = 0.1
SOME = 5  # sentences of which one is measured
# All that attend: at once, layer by layer, or step by step.
ATTENTIVE = [
    "transformer",
    "transformer-pre-norm",
    "bahdanau",
    "luong",
    "luong-dot",
    "gnmt",
    "convs2s",
]


@pytest.fixture(scope="module")
def batch() -> Batch:
    """Sentences with a random alignment: some target tokens have several sources, some none."""
    bare = make_batches(VOCABULARY, 1)[0].only(np.arange(12))
    random = np.random.default_rng(0)
    is_linked = random.random((*bare.target_out.shape, bare.source.shape[1])) < 0.05
    is_linked &= bare.target_mask[:, :, None] & bare.source_mask[:, None, :]
    alignment = is_linked / np.maximum(is_linked.sum(2, keepdims=True), 1)
    return dataclasses.replace(bare, alignment=alignment.astype(np.float32))


def transformer(**changes: Any) -> Transformer:
    torch.manual_seed(1)
    config = TransformerConfig(
        d_model=16, heads=2, d_ff=24, encoder_layers=1, decoder_layers=2, dropout=0.0
    )
    return Transformer(dataclasses.replace(config, **changes), VOCABULARY, VOCABULARY).train()


def guide_of(
    model: Seq2Seq[Any],
    *,
    layer: int = 0,
    head: int = 1,
    weight: float = 0.7,
    is_shifted: bool = False,
) -> Guide:
    config = TrainConfig(
        guided_alignment=weight,
        guided_layer=layer,
        guided_head=head,
        guided_shift=is_shifted,
    )
    return Guide.of(model, config)


def guided(model: Seq2Seq[Any], guide: Guide, batch: Batch, r_drop: float = 0.0) -> Loss:
    return guide.taught(partial(batch_loss, model, batch, SMOOTHING, r_drop), batch)


def gradients(model: Seq2Seq[Any], loss: Tensor) -> list[Tensor]:
    found = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    return [torch.zeros(()) if each is None else each for each in found]


# ------------------------------------------------------------------------------ the formula


def test_the_term_is_a_sum_over_links() -> None:
    weights = torch.tensor([[[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]])
    alignment = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 0.0]]])
    expected = -(math.log(0.5) + 0.5 * math.log(0.8) + 0.5 * math.log(0.1))
    assert float(alignment_loss(weights, alignment)) == pytest.approx(expected)


@given(st.integers(0, 1000))
@settings(max_examples=20)
def test_the_gradient_of_the_term_is_that_of_finite_differences(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(2, 3, 4, generator=generator, dtype=torch.float64).requires_grad_()
    alignment = (torch.rand(2, 3, 4, generator=generator) < 0.4).double()
    assert torch.autograd.gradcheck(lambda s: alignment_loss(s.softmax(-1), alignment), [scores])


def test_a_weight_of_zero_is_no_catastrophe() -> None:
    scores = torch.tensor([[[0.0, -1e6]]], requires_grad=True)
    loss = alignment_loss(scores.softmax(-1), torch.tensor([[[0.0, 1.0]]]))
    loss.backward()
    assert loss.isfinite()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()


# ------------------------------------------------------------------------------ what is added


@pytest.mark.parametrize("arch", ATTENTIVE)
@pytest.mark.parametrize(("head", "is_shifted"), [(0, False), (1, False), (1, True)])
def test_the_term_is_that_of_the_weights_that_the_lens_sees(
    arch: str, head: int, is_shifted: bool, batch: Batch
) -> None:
    model = tiny_model(arch)
    found = guided(model, guide_of(model, head=head, is_shifted=is_shifted), batch)
    with capture(model) as seen:
        plain = batch_loss(model, batch, SMOOTHING)
    *_, last = (calls for site, calls in seen.calls.items() if "cross" in site)
    weights = torch.cat(last, dim=2)
    one = weights.mean(1) if head == 0 else weights[:, head - 1]
    assert batch.alignment is not None
    alignment = torch.from_numpy(batch.alignment)
    if is_shifted:
        one, alignment = one[:, 1:], alignment[:, :-1]
    term = alignment_loss(one, alignment)
    assert float(term) > 1
    torch.testing.assert_close(found.smoothed, plain.smoothed + 0.7 * term)
    torch.testing.assert_close(found.nll, plain.nll)


@pytest.mark.parametrize(("layer", "name"), [(1, "layers.0"), (2, "layers.1"), (0, "layers.1")])
def test_layers_are_counted_from_1_and_0_is_the_last(layer: int, name: str) -> None:
    model = transformer()
    expected = model.get_submodule(f"decoder.{name}.cross_attention.attend")
    assert guide_of(model, layer=layer).attend is expected


@pytest.mark.parametrize("head", [0, 2])
def test_the_gradient_is_that_of_the_loss_plus_that_of_the_term(head: int, batch: Batch) -> None:
    model = transformer().double()
    both, half, plain = (
        gradients(model, guided(model, guide_of(model, head=head, weight=w), batch).smoothed)
        for w in (1.0, 0.5, 0.0)
    )
    assert any(not torch.allclose(b, p) for b, p in zip(both, plain, strict=True))
    for b, h, p in zip(both, half, plain, strict=True):
        torch.testing.assert_close(b - h, h - p)


def test_the_gradient_through_the_model_is_that_of_finite_differences(batch: Batch) -> None:
    model = transformer().double()
    guide, few = guide_of(model, layer=1), batch.only(np.arange(2))
    loss = guided(model, guide, few).smoothed
    cross = model.get_submodule("decoder.layers.0.cross_attention.query")
    weight = cross.weight
    assert isinstance(weight, torch.nn.Parameter)
    (gradient,) = torch.autograd.grad(loss, [weight])
    direction = torch.randn(weight.shape, generator=torch.Generator().manual_seed(0)).double()
    losses = []
    for step in (1e-5, -1e-5):
        with torch.no_grad():
            weight.add_(direction, alpha=step)
            losses.append(float(guided(model, guide, few).smoothed))
            weight.add_(direction, alpha=-step)
    slope = (losses[0] - losses[1]) / 2e-5
    assert float((gradient * direction).sum()) == pytest.approx(slope, rel=1e-4)


def test_only_the_guided_attention_leaves_the_fused_kernel(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = transformer()
    fused = torch.nn.functional.scaled_dot_product_attention
    calls = []

    def counted(*inputs: Any, **options: Any) -> Tensor:
        calls.append(1)
        return fused(*inputs, **options)

    monkeypatch.setattr("torch.nn.functional.scaled_dot_product_attention", counted)
    batch_loss(model, batch, SMOOTHING)
    num_usual = len(calls)
    guided(model, guide_of(model), batch)
    assert (num_usual, len(calls) - num_usual) == (5, 4)


def test_two_passes_of_r_drop_are_guided_on_average(batch: Batch) -> None:
    model = transformer()
    once, twice = (guided(model, guide_of(model), batch, r_drop) for r_drop in (0.0, 5.0))
    torch.testing.assert_close(twice.smoothed, once.smoothed)


# ------------------------------------------------------------------------------ in parts


@pytest.mark.parametrize("num_cores", [1, 2, 3])
def test_parts_add_up_to_the_whole(
    num_cores: int, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "PART_TOKENS", 60)
    model = transformer()
    loss, parameters = partial(guided, model, guide_of(model)), list(model.parameters())
    whole = learn(loss, parameters, batch, 0.01)
    parts = Shards(loss, parameters, Cores(num_cores)).learn(batch, 0.01)
    assert parts.smoothed == pytest.approx(whole.smoothed)
    torch.testing.assert_close(parts.gradients, whole.gradients, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("num_cores", [None, 2])
def test_recomputed_blocks_learn_the_same(num_cores: int | None, batch: Batch) -> None:
    found = []
    for recomputes in (False, True):
        model = transformer(dropout=0.3)
        model.recompute_blocks(recomputes)
        loss, parameters = partial(guided, model, guide_of(model)), list(model.parameters())
        torch.manual_seed(3)
        found.append(
            learn(loss, parameters, batch, 0.01)
            if num_cores is None
            else Shards(loss, parameters, Cores(num_cores)).learn(batch, 0.01)
        )
    assert found[0].smoothed == found[1].smoothed
    assert all(map(torch.equal, found[0].gradients, found[1].gradients))  # type: ignore[arg-type]


# ------------------------------------------------------------------------------ a training


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus and the links that `regard align` finds in it."""
    place = tmp_path_factory.mktemp("aligned")
    source, target = map(str, write_corpus(place))
    out = str(place / "links.txt")
    assert main(["align", "--source", source, "--target", target, "--out", out]) == 0
    return place


def guided_run(place: Path, weight: float, **train: Any) -> RunConfig:
    config = little_run((place / "train.fr", place / "train.en"), validate_bleu=False, show=0)
    return dataclasses.replace(
        config,
        data=dataclasses.replace(config.data, alignment=str(place / "links.txt")),
        train=dataclasses.replace(config.train, guided_alignment=weight, average=0, **train),
    )


def alignment_error(run: Run, model: Seq2Seq[Any], head: int, place: Path) -> float:
    """The error rate of a head's links against those it was taught."""
    model.eval()
    source_side, target_side = run.tokenisers.source, run.tokenisers.target
    found = []
    for source, target in sentences()[::SOME]:
        read, written = source_side.encode(source), target_side.encode(target)
        ids = torch.tensor([[*read.ids, source_side.eos]])
        fed = torch.tensor([[target_side.bos, *written.ids]])
        with torch.no_grad(), capture(model) as seen:
            memory = model.encode(ids, torch.ones_like(ids, dtype=torch.bool))
            model.decode(memory, fed, torch.ones_like(fed, dtype=torch.bool))
        (weights,) = seen.calls["decoder.layers.0.cross_attention"]
        found.append(frozenset(align_words(weights[0, head - 1], written, read).links))
    lines = (place / "links.txt").read_text("utf-8").splitlines()[::SOME]
    return error_rate(found, list(map(read_gold, lines))).aer


def test_a_guided_head_aligns_where_an_unguided_one_does_not(tmp_path: Path, place: Path) -> None:
    errors = []
    for weight in (0.0, 1.0):
        config = guided_run(place, weight, steps=40, guided_head=2)
        run = create_run(tmp_path / f"run-{weight}", config)
        trainer = build_trainer(run)
        trainer.train()
        errors.append([alignment_error(run, trainer.model, head, place) for head in (1, 2)])
    (_, unguided), (neighbour, taught) = errors
    assert unguided > 0.5
    assert neighbour > 0.5
    assert taught < 0.1


def test_off_is_off_to_the_bit(tmp_path: Path, place: Path) -> None:
    config = guided_run(place, 0.0, steps=4)
    bare = dataclasses.replace(config, data=dataclasses.replace(config.data, alignment=""))
    found = []
    for name, each in (("named", config), ("bare", bare)):
        trainer = build_trainer(create_run(tmp_path / name, each))
        trainer.train()
        found.append(model_tensors(trainer.model))
    assert equal(*found)


def test_a_guided_training_cut_among_cores_resumes_bit_for_bit(tmp_path: Path, place: Path) -> None:
    config = everything_random(tmp_path, steps=8)
    config = dataclasses.replace(
        config,
        data=dataclasses.replace(config.data, alignment=str(place / "links.txt")),
        model=dataclasses.replace(config.model, dropout_attention=0.0),
        train=dataclasses.replace(config.train, guided_alignment=0.5),
    )
    assert resumes_on_two_cores(tmp_path, config)


# ------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("arch", "settings", "message"),
    [
        ("transformer", {"layer": 3}, "train.guided_layer = 3: 2 layers of this model's decoder"),
        ("bahdanau", {"layer": 2}, "train.guided_layer = 2: 1 layers of this model's decoder"),
        ("seq2seq-lstm", {}, "train.guided_layer = 0: 0 layers of this model's decoder attend"),
    ],
)
def test_an_attention_that_is_not_there_is_refused(
    arch: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        guide_of(tiny_model(arch), **settings)


def test_a_head_that_is_not_there_is_refused(batch: Batch) -> None:
    model = transformer()
    with pytest.raises(ConfigError, match=r"train.guided_head = 3: the layer has 2 heads"):
        guided(model, guide_of(model, head=3), batch)


def test_guiding_without_an_alignment_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"train.guided_alignment = 0.1 needs data.alignment; "):
        with_overrides(RunConfig(), ["train.guided_alignment=0.1"])


def test_a_changed_alignment_is_refused(tmp_path: Path, place: Path) -> None:
    links = tmp_path / "links.txt"
    links.write_bytes((place / "links.txt").read_bytes())
    config = guided_run(place, 0.1)
    data = dataclasses.replace(config.data, alignment=str(links))
    run = create_run(tmp_path / "run", dataclasses.replace(config, data=data))
    links.write_text(links.read_text("utf-8").replace("0-0", "0-1", 1), "utf-8")
    with pytest.raises(DataError, match=r"links\.txt is not the file that .*run began with"):
        build_trainer(run)


def test_every_attentive_architecture_is_among_the_variations() -> None:
    assert set(ATTENTIVE) <= set(VARIATIONS)
