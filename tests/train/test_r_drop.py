"""R-Drop: the fused path equals the formula, and the formula does what the paper says."""

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.batching import Batch
from regard.models.transformer import Transformer, TransformerConfig
from regard.plain import plain
from regard.shapes import Tensor
from regard.train import loss, shards
from regard.train.cores import Cores
from regard.train.loss import Loss, label_smoothed_loss
from regard.train.objective import batch_loss
from regard.train.r_drop import fused_r_drop_loss, r_drop_loss
from regard.train.shards import Learned, Shards, learn
from regard.train.tensors import TensorBatch
from train_systems import make_batches

CHUNK = 8  # of two passes: four pairs
examples = settings(deadline=None, max_examples=40)
shapes = st.tuples(st.integers(1, 13), st.integers(1, 5), st.integers(2, 9))
smoothings = st.sampled_from([0.0, 0.1, 0.7])
alphas = st.sampled_from([0.0, 0.5, 5.0])


@pytest.fixture(autouse=True, scope="module")
def small_chunks() -> Iterator[None]:
    """Borders between chunks within reach of small examples."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loss, "CHUNK_TOKENS", CHUNK)
        yield


class Problem:
    """Hidden states of two passes, an output layer, and what should have been said."""

    def __init__(self, shape: tuple[int, int, int], *, has_bias: bool, seed: int = 0) -> None:
        num_tokens, d_model, vocabulary = shape
        generator = torch.Generator().manual_seed(seed)

        def random(*size: int) -> Tensor:
            return torch.randn(size, generator=generator, dtype=torch.float64).requires_grad_()

        self.hidden = random(2, num_tokens, d_model)
        self.weight = random(vocabulary, d_model)
        self.bias = random(vocabulary) if has_bias else None
        self.targets = torch.randint(vocabulary, (num_tokens,), generator=generator)

    @property
    def inputs(self) -> list[Tensor]:
        return [x for x in (self.hidden, self.weight, self.bias) if x is not None]

    @property
    def logits(self) -> Tensor:
        return F.linear(self.hidden, self.weight, self.bias)

    def fused(self, smoothing: float, alpha: float) -> Loss:
        return fused_r_drop_loss(
            self.hidden, self.weight, self.bias, self.targets, smoothing, alpha
        )

    def plain(self, smoothing: float, alpha: float) -> Loss:
        return r_drop_loss(self.logits, self.targets, smoothing, alpha)


# ------------------------------------------------------------------------------ fused and plain

problems = st.builds(Problem, shapes, has_bias=st.booleans(), seed=st.integers(0, 999))


@examples
@given(problem=problems, smoothing=smoothings, alpha=alphas)
def test_the_fused_loss_equals_the_plain_one(
    problem: Problem, smoothing: float, alpha: float
) -> None:
    fused, plain = problem.fused(smoothing, alpha), problem.plain(smoothing, alpha)
    torch.testing.assert_close(tuple(fused), tuple(plain))


@examples
@given(problem=problems, smoothing=smoothings, alpha=alphas, factor=st.floats(-2, 2))
def test_the_fused_gradient_equals_the_plain_one(
    problem: Problem, smoothing: float, alpha: float, factor: float
) -> None:
    fused = torch.autograd.grad(factor * problem.fused(smoothing, alpha).smoothed, problem.inputs)
    plain = torch.autograd.grad(factor * problem.plain(smoothing, alpha).smoothed, problem.inputs)
    torch.testing.assert_close(fused, plain)


def test_the_fused_gradient_is_that_of_finite_differences() -> None:
    problem = Problem((5, 2, 3), has_bias=True)
    assert problem.bias is not None

    def smoothed(hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return fused_r_drop_loss(hidden, weight, bias, problem.targets, 0.1, 5.0).smoothed

    assert torch.autograd.gradcheck(smoothed, problem.inputs)


def test_probabilities_too_small_for_single_precision_do_no_harm() -> None:
    problem = Problem((9, 3, 7), has_bias=False)
    hidden = (100 * problem.hidden.detach()).requires_grad_()
    exact = r_drop_loss(hidden @ problem.weight.T, problem.targets, 0.1, 5.0).smoothed
    small, weight = hidden.detach().float().requires_grad_(), problem.weight.detach().float()
    assert float((small @ weight.T).softmax(-1).min().detach()) == 0
    single = fused_r_drop_loss(small, weight, None, problem.targets, 0.1, 5.0).smoothed
    torch.testing.assert_close(single.double(), exact, rtol=1e-5, atol=0)
    (expected,) = torch.autograd.grad(exact, hidden)
    (found,) = torch.autograd.grad(single, small)
    torch.testing.assert_close(found.double(), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_no_gradient_is_made_when_none_is_needed(
    mode: Callable[[], torch.no_grad], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem((7, 3, 5), has_bias=True)
    expected = float(problem.plain(0.1, 5.0).smoothed.detach())

    def forbidden(*args: object, **kwargs: object) -> Tensor:
        raise AssertionError("a gradient was allocated")

    monkeypatch.setattr(torch, "empty_like", forbidden)
    with mode():
        assert float(problem.fused(0.1, 5.0).smoothed) == pytest.approx(expected)


def test_a_batch_without_tokens_has_no_loss() -> None:
    assert float(Problem((0, 3, 5), has_bias=False).fused(0.1, 5.0).smoothed.detach()) == 0


# ------------------------------------------------------------------------------ the formula


def test_the_loss_is_half_of_equation_4() -> None:
    problem, alpha = Problem((4, 3, 6), has_bias=False), 5.0
    p, q = problem.logits.softmax(-1)
    expected = torch.zeros((), dtype=torch.float64)
    for token, target in enumerate(problem.targets.tolist()):
        expected += -p[token, target].log() - q[token, target].log()
        for a, b in ((p[token], q[token]), (q[token], p[token])):
            expected += alpha / 2 * sum(a[k] * (a[k] / b[k]).log() for k in range(6))
    torch.testing.assert_close(2 * problem.plain(0.0, alpha).smoothed, expected)


def test_two_passes_that_agree_lose_what_one_does() -> None:
    problem = Problem((6, 3, 5), has_bias=True)
    logits = problem.logits[:1].repeat(2, 1, 1)
    once = label_smoothed_loss(logits[0], problem.targets, 0.1)
    torch.testing.assert_close(tuple(r_drop_loss(logits, problem.targets, 0.1, 5.0)), tuple(once))


def test_the_likelihood_is_the_mean_of_both_passes() -> None:
    problem = Problem((6, 3, 5), has_bias=True)
    first, second = (F.cross_entropy(z, problem.targets, reduction="sum") for z in problem.logits)
    for found in (problem.plain(0.3, 5.0), problem.fused(0.3, 5.0)):
        torch.testing.assert_close(found.nll, (first + second).detach() / 2)
        assert not found.nll.requires_grad


# ------------------------------------------------------------------------------ on a model

VOCABULARY = 50
CONFIG = TransformerConfig(
    d_model=16, heads=2, d_ff=24, encoder_layers=1, decoder_layers=1, dropout=0.3
)


@pytest.fixture(scope="module")
def batch() -> Batch:
    """Sentences of different lengths on both sides."""
    even = make_batches(VOCABULARY, 1)[0].only(np.arange(21))
    lengths = 5 + np.arange(21)[:, None] % 9
    return dataclasses.replace(
        even,
        source_mask=np.arange(even.source.shape[1]) < lengths,
        target_mask=np.arange(even.target_in.shape[1]) < lengths[::-1],
    )


def model_of(dropout: float) -> Transformer:
    torch.manual_seed(1)
    config = dataclasses.replace(CONFIG, dropout=dropout)
    return Transformer(config, VOCABULARY, VOCABULARY).train()


def learned_in_parts(model: Transformer, batch: Batch, num_cores: int) -> Learned:
    torch.manual_seed(3)
    objective = partial(batch_loss, model, smoothing=0.1, r_drop=5.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "PART_TOKENS", 60)  # several parts a core
        return Shards(objective, list(model.parameters()), Cores(num_cores)).learn(batch, 0.01)


def tensors(learned: Learned) -> list[Tensor]:
    return [gradient for gradient in learned.gradients if gradient is not None]


def divergence(model: Transformer, batch: Batch) -> Tensor:
    """How far two passes are apart, a token: what grows with α when nothing else changes."""
    found = []
    for alpha in (1.0, 3.0):
        torch.manual_seed(4)
        found.append(batch_loss(model, batch, 0.0, alpha).smoothed)
    near, far = found
    return (far - near) / float(batch.target_mask.sum())


def test_without_dropout_it_is_the_plain_loss(batch: Batch) -> None:
    model = model_of(dropout=0.0)
    parameters = list(model.parameters())
    once = learn(partial(batch_loss, model, smoothing=0.1), parameters, batch, 0.01)
    twice = learn(partial(batch_loss, model, smoothing=0.1, r_drop=5.0), parameters, batch, 0.01)
    assert (twice.smoothed, twice.nll) == pytest.approx((once.smoothed, once.nll), rel=1e-5)
    torch.testing.assert_close(tensors(twice), tensors(once), atol=1e-6, rtol=1e-4)


def test_the_two_passes_drop_differently(batch: Batch) -> None:
    model = model_of(dropout=0.3)
    twice = TensorBatch.of(batch, "cpu").twice()
    memory = model.encode(twice.source, twice.source_mask)
    hidden = model.decode(memory, twice.target_in, twice.target_mask)
    for states in (memory.states, hidden):
        first, second = states.chunk(2)
        assert not torch.isclose(first, second).all(-1).any()


def test_the_formula_and_the_fused_path_agree_on_a_model(batch: Batch) -> None:
    """Dropout is not the same on both; noise that depends on the place in the batch is."""
    model = model_of(dropout=0.0)
    model.encoder.register_forward_hook(
        lambda _encoder, _given, x: x + torch.linspace(-1, 1, x.numel()).view_as(x)
    )
    assert float(divergence(model, batch).detach()) > 1e-3
    parameters = list(model.parameters())
    objective = partial(batch_loss, model, smoothing=0.1, r_drop=5.0)
    fast = learn(objective, parameters, batch, 0.01)
    with plain():
        slow = learn(objective, parameters, batch, 0.01)
    assert (fast.smoothed, fast.nll) == pytest.approx((slow.smoothed, slow.nll), rel=1e-5)
    torch.testing.assert_close(tensors(fast), tensors(slow), atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("num_cores", [1, 2, 3])
def test_parts_add_up_to_the_whole(batch: Batch, num_cores: int) -> None:
    model = model_of(dropout=0.0)
    objective = partial(batch_loss, model, smoothing=0.1, r_drop=5.0)
    whole = learn(objective, list(model.parameters()), batch, 0.01)
    parts = learned_in_parts(model, batch, num_cores)
    assert (parts.smoothed, parts.nll) == pytest.approx((whole.smoothed, whole.nll))
    torch.testing.assert_close(tensors(parts), tensors(whole), atol=1e-6, rtol=1e-4)


def test_the_same_seed_gives_the_same_bits_whichever_core_is_faster(batch: Batch) -> None:
    model = model_of(dropout=0.3)
    first = learned_in_parts(model, batch, 2)
    again = learned_in_parts(model, batch, 2)
    assert again.smoothed == first.smoothed
    assert all(map(torch.equal, tensors(again), tensors(first)))


def test_a_step_brings_the_two_passes_together(batch: Batch) -> None:
    model = model_of(dropout=0.3)
    parameters = list(model.parameters())
    before = divergence(model, batch)
    gradients = torch.autograd.grad(before, parameters)
    with torch.no_grad():
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.sub_(0.1 * gradient)
        after = divergence(model, batch)
    assert 0 < float(after) < float(before.detach())


def test_learning_with_it_lets_the_two_passes_part_less(batch: Batch) -> None:
    batch = batch.only(np.arange(8))
    apart = []
    for alpha in (1e-9, 5.0):
        model = model_of(dropout=0.3)
        optimiser = torch.optim.SGD(model.parameters(), lr=0.5)
        for _ in range(10):
            optimiser.zero_grad()
            (batch_loss(model, batch, 0.1, alpha).smoothed / batch.target_mask.sum()).backward()
            optimiser.step()
        apart.append(float(divergence(model, batch).detach()))
    assert apart[1] < 0.7 * apart[0]
