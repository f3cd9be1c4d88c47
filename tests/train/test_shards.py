"""A batch cut among cores is learned from as a whole batch is."""

import itertools
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from regard.data.batching import Batch
from regard.models.transformer import Transformer, TransformerConfig
from regard.nn.penalty import gathering
from regard.shapes import Tensor
from regard.train import shards
from regard.train.cores import Cores
from regard.train.loss import Loss
from regard.train.objective import batch_loss
from regard.train.shards import Learned, Shards, learn
from regard.train.tensors import TensorBatch
from train_systems import make_batches

VOCABULARY = 50
CONFIG = TransformerConfig(
    d_model=16, heads=2, d_ff=24, encoder_layers=1, decoder_layers=1, dropout=0.0
)


@pytest.fixture(autouse=True)
def small_parts() -> Iterator[None]:
    """Several parts a core within reach of a small batch."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "PART_TOKENS", 60)
        yield


@pytest.fixture(scope="module")
def batch() -> Batch:
    return make_batches(VOCABULARY, 1)[0].only(np.arange(21))


def model_of(config: TransformerConfig = CONFIG) -> Transformer:
    torch.manual_seed(1)
    return Transformer(config, VOCABULARY, VOCABULARY).train()


def learned_in_parts(model: Transformer, batch: Batch, num_cores: int, *, seed: int = 3) -> Learned:
    torch.manual_seed(seed)
    loss = partial(batch_loss, model, smoothing=0.1)
    return Shards(loss, list(model.parameters()), Cores(num_cores)).learn(batch, 0.01)


def tensors(learned: Learned) -> list[Tensor]:
    return [gradient for gradient in learned.gradients if gradient is not None]


@pytest.mark.parametrize("num_cores", [1, 2, 3, 30])
def test_parts_add_up_to_the_whole(batch: Batch, num_cores: int) -> None:
    model = model_of()
    whole = learn(partial(batch_loss, model, smoothing=0.1), list(model.parameters()), batch, 0.01)
    parts = learned_in_parts(model, batch, num_cores)
    assert parts.smoothed == pytest.approx(whole.smoothed)
    assert parts.nll == pytest.approx(whole.nll)
    torch.testing.assert_close(tensors(parts), tensors(whole), atol=1e-6, rtol=1e-4)


EXPERTS = replace(CONFIG, experts=4, experts_balance=0.5, encoder_layers=2)


def test_the_penalty_of_experts_counts_once_a_target_token(batch: Batch) -> None:
    found = {}
    for balance in (0.0, 0.5):
        model = model_of(replace(EXPERTS, experts_balance=balance))
        torch.manual_seed(2)
        found[balance] = batch_loss(model, batch, 0.1)
    model = model_of(EXPERTS)
    torch.manual_seed(2)
    with gathering() as penalties:
        tensors = TensorBatch.of(batch, "cpu")
        memory = model.encode(tensors.source, tensors.source_mask)
        model.decode(memory, tensors.target_in, tensors.target_mask)
    assert len(penalties) == 3
    penalty = torch.stack(penalties).sum() * batch.target_mask.sum()
    torch.testing.assert_close(
        found[0.5].smoothed - found[0.0].smoothed, penalty, rtol=1e-3, atol=0.0
    )
    assert torch.equal(found[0.5].nll, found[0.0].nll)


def test_the_penalty_of_experts_reaches_the_gate_through_recomputed_blocks(batch: Batch) -> None:
    model = model_of(replace(EXPERTS, dropout=0.3))
    usual = learned_in_parts(model, batch, 2)
    model.recompute_blocks(True)
    recomputed = learned_in_parts(model, batch, 2)
    assert recomputed.smoothed == usual.smoothed
    torch.testing.assert_close(tensors(recomputed), tensors(usual))


@pytest.mark.parametrize("experts", [1, 4])
@pytest.mark.parametrize("recomputes", [False, True])
def test_the_same_seed_gives_the_same_bits_whichever_core_is_faster(
    batch: Batch, recomputes: bool, experts: int
) -> None:
    model = model_of(replace(CONFIG, dropout=0.3, experts=experts))
    model.recompute_blocks(recomputes)
    first = learned_in_parts(model, batch, 2)
    for _ in range(5):
        again = learned_in_parts(model, batch, 2)
        assert again.smoothed == first.smoothed
        assert all(map(torch.equal, tensors(again), tensors(first)))


def test_recomputed_blocks_drop_what_they_dropped(batch: Batch) -> None:
    model = model_of(replace(CONFIG, dropout=0.3))
    usual = learned_in_parts(model, batch, 2)
    model.recompute_blocks(True)
    recomputed = learned_in_parts(model, batch, 2)
    assert all(map(torch.equal, tensors(usual), tensors(recomputed)))


def test_another_seed_drops_otherwise(batch: Batch) -> None:
    model = model_of(replace(CONFIG, dropout=0.3))
    one, other = (learned_in_parts(model, batch, 2, seed=seed) for seed in (1, 2))
    assert one.smoothed != other.smoothed


def test_parts_drop_differently(batch: Batch) -> None:
    """The same sentences in every part: the loss would be the same but for what is dropped."""
    model = model_of(replace(CONFIG, dropout=0.3))
    seen: list[float] = []

    def loss(part: Batch) -> Loss:
        found = batch_loss(model, batch.only(np.arange(4)), 0.1)
        seen.append(float(found.smoothed.detach()))
        return found

    Shards(loss, list(model.parameters()), Cores(2)).learn(batch, 0.01)
    assert len(set(seen)) == len(seen) > 2


def test_an_error_in_a_part_reaches_the_caller(batch: Batch) -> None:
    def broken(part: Batch) -> Loss:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        Shards(broken, [], Cores(2)).learn(batch, 0.01)


@pytest.mark.parametrize("num_parts", [1, 2, 5, 21, 40])
def test_every_example_is_in_one_part(batch: Batch, num_parts: int) -> None:
    parts = shards._cut(batch, num_parts)
    assert all(len(part.indices) for part in parts)
    together = list(itertools.chain.from_iterable(part.indices.tolist() for part in parts))
    assert sorted(together) == sorted(batch.indices.tolist())


def test_parts_have_like_sentences_and_as_many_tokens() -> None:
    batch = make_batches(VOCABULARY, 1)[0]
    parts = shards._cut(batch, 4)
    tokens = [part.source_mask.sum() + part.target_mask.sum() for part in parts]
    assert max(tokens) < 1.1 * min(tokens)
    assert sum(part.source_mask.size for part in parts) < 0.99 * batch.source_mask.size
    for part in parts:
        for mask in (part.source_mask, part.target_mask):
            assert mask.any(0).all(), "no column is padding alone"
    lengths = [part.source_mask.sum(1) for part in parts]
    assert all(one.max() <= other.min() for one, other in itertools.pairwise(lengths))


def test_one_long_sentence_leaves_something_for_every_part(batch: Batch) -> None:
    mask = np.zeros((5, 40), dtype=bool)
    mask[:, :1] = True
    mask[2] = True
    ids, indices = np.zeros((5, 40), dtype=np.int64), np.arange(5)
    parts = shards._cut(Batch(ids, mask, ids, ids, mask, indices), 5)
    assert [len(part.indices) for part in parts] == [1] * 5


@pytest.mark.parametrize(
    ("num_parts", "num_cores", "expected"),
    [(4, 2, [[0, 3], [1, 2]]), (5, 2, [[0, 3, 4], [1, 2]]), (2, 3, [[0], [1]]), (1, 1, [[0]])],
)
def test_long_and_short_parts_are_dealt_out_evenly(
    num_parts: int, num_cores: int, expected: list[list[int]]
) -> None:
    assert shards._deal(range(num_parts), num_cores) == expected


def test_the_whole_is_learned_as_autograd_learns_it(batch: Batch) -> None:
    model = model_of()
    parameters, loss = list(model.parameters()), partial(batch_loss, model, smoothing=0.1)
    found = learn(loss, parameters, batch, 0.01)
    expected = torch.autograd.grad(0.01 * loss(batch).smoothed, parameters)
    torch.testing.assert_close(tensors(found), list(expected), atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize(
    ("change", "expected"),
    [({}, True), ({"norm": "batch"}, False), ({"dropout_attention": 0.1}, False)],
)
def test_what_looks_at_the_whole_batch_is_not_cut(
    change: dict[str, object], expected: bool
) -> None:
    config = replace(CONFIG, **change)  # type: ignore[arg-type]
    assert model_of(config).is_divisible is expected


def test_a_parameter_that_takes_part_later_keeps_its_gradient(batch: Batch) -> None:
    """As an expert that only some sentences visit."""
    early, late = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)

    def loss(part: Batch) -> Loss:
        used = early if part.indices[0] == batch.indices[0] else early * late
        return Loss(used.square().sum() * len(part.indices), torch.zeros(()))

    found = Shards(loss, [early, late], Cores(1)).learn(batch, 1.0)
    assert found.gradients[1] is not None
    first = shards._cut(batch, round(batch.target_mask.size / shards.PART_TOKENS))[0]
    rest = len(batch.indices) - len(first.indices)
    torch.testing.assert_close(found.gradients[1], torch.full((2,), 2.0 * rest))


@pytest.mark.parametrize("is_work", [True, False], ids=["work", "waiting"])
def test_only_work_is_counted_and_that_of_the_busiest_core(batch: Batch, is_work: bool) -> None:
    """Several parts, each of 20 ms of processor time or of none."""
    weight = torch.zeros(1, requires_grad=True)
    parts: list[float] = []

    def loss(part: Batch) -> Loss:
        started = time.thread_time()
        if is_work:
            while time.thread_time() < started + 0.02:
                pass
        else:
            time.sleep(0.1)
        parts.append(time.thread_time() - started)
        return Loss(weight.sum(), weight.detach().sum())

    cores = Cores(2)
    Shards(loss, [weight], cores).learn(batch, 1.0)
    assert len(parts) > 2
    assert cores.busy < (sum(parts) if is_work else 0.1)
    assert not is_work or cores.busy >= sum(parts) / 2
