"""The fused loss equals the plain one, and the plain one equals torch's."""

from collections.abc import Callable, Iterator

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.shapes import Tensor
from regard.train import loss
from regard.train.loss import Loss, fused_projection_loss, label_smoothed_loss

CHUNK = 4
examples = settings(deadline=None, max_examples=40)
shapes = st.tuples(st.integers(1, 3 * CHUNK + 1), st.integers(1, 5), st.integers(2, 9))


@pytest.fixture(autouse=True, scope="module")
def small_chunks() -> Iterator[None]:
    """Borders between chunks within reach of small examples."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loss, "CHUNK_TOKENS", CHUNK)
        yield


class Problem:
    """Hidden states, an output layer, and what should have been said."""

    def __init__(self, shape: tuple[int, int, int], *, has_bias: bool, seed: int = 0) -> None:
        num_tokens, d_model, vocabulary = shape
        generator = torch.Generator().manual_seed(seed)

        def random(*size: int) -> Tensor:
            return torch.randn(size, generator=generator, dtype=torch.float64).requires_grad_()

        self.hidden = random(num_tokens, d_model)
        self.weight = random(vocabulary, d_model)
        self.bias = random(vocabulary) if has_bias else None
        self.targets = torch.randint(vocabulary, (num_tokens,), generator=generator)

    @property
    def inputs(self) -> list[Tensor]:
        return [x for x in (self.hidden, self.weight, self.bias) if x is not None]

    def fused(self, smoothing: float) -> Loss:
        return fused_projection_loss(self.hidden, self.weight, self.bias, self.targets, smoothing)

    def plain(self, smoothing: float) -> Loss:
        logits = F.linear(self.hidden, self.weight, self.bias)
        return label_smoothed_loss(logits, self.targets, smoothing)


smoothings = st.sampled_from([0.0, 0.1, 0.7])


@examples
@given(shape=shapes, has_bias=st.booleans(), smoothing=smoothings, seed=st.integers(0, 999))
def test_the_fused_loss_equals_the_plain_one(
    shape: tuple[int, int, int], has_bias: bool, smoothing: float, seed: int
) -> None:
    problem = Problem(shape, has_bias=has_bias, seed=seed)
    torch.testing.assert_close(tuple(problem.fused(smoothing)), tuple(problem.plain(smoothing)))


@examples
@given(
    shape=shapes,
    has_bias=st.booleans(),
    smoothing=smoothings,
    seed=st.integers(0, 999),
    factor=st.floats(-2, 2),
)
def test_the_fused_gradient_equals_the_plain_one(
    shape: tuple[int, int, int], has_bias: bool, smoothing: float, seed: int, factor: float
) -> None:
    problem = Problem(shape, has_bias=has_bias, seed=seed)
    fused = torch.autograd.grad(factor * problem.fused(smoothing).smoothed, problem.inputs)
    plain = torch.autograd.grad(factor * problem.plain(smoothing).smoothed, problem.inputs)
    torch.testing.assert_close(fused, plain)


def test_two_ways_back_through_one_graph_give_the_same_gradient() -> None:
    problem = Problem((6, 3, 5), has_bias=True)
    scaled = problem.fused(0.1).smoothed / 6
    first = torch.autograd.grad(scaled, problem.inputs, retain_graph=True)
    second = torch.autograd.grad(scaled, problem.inputs)
    torch.testing.assert_close(first, second)


def test_a_shared_matrix_gathers_the_gradients_of_both_its_uses() -> None:
    """Output layer and embedding in one: the hidden states depend on the matrix too."""
    weight = Problem((6, 3, 5), has_bias=False).weight
    targets = torch.tensor([0, 1, 2, 3, 4, 0])
    embedded = F.embedding(targets.roll(1), weight)
    (fused,) = torch.autograd.grad(
        fused_projection_loss(embedded, weight, None, targets, 0.1).smoothed, weight
    )
    embedded = F.embedding(targets.roll(1), weight)
    (plain,) = torch.autograd.grad(
        label_smoothed_loss(embedded @ weight.T, targets, 0.1).smoothed, weight
    )
    torch.testing.assert_close(fused, plain)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_plain_loss_is_torchs_cross_entropy(smoothing: float) -> None:
    problem = Problem((7, 3, 5), has_bias=True)
    logits = F.linear(problem.hidden, problem.weight, problem.bias)
    expected = F.cross_entropy(logits, problem.targets, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(problem.plain(smoothing).smoothed, expected)


def test_the_plain_loss_follows_the_formula() -> None:
    logits = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))
    targets, smoothing = torch.tensor([5, 0, 2, 2]), 0.3
    log_probs = logits.log_softmax(-1)
    expected = torch.zeros(())
    for token, target in enumerate(targets.tolist()):
        for k in range(6):
            q = (1 - smoothing) * (k == target) + smoothing / 6
            expected -= q * log_probs[token, k]
    torch.testing.assert_close(label_smoothed_loss(logits, targets, smoothing).smoothed, expected)


@pytest.mark.parametrize("path", [Problem.fused, Problem.plain])
def test_the_likelihood_is_reported_without_smoothing(
    path: Callable[[Problem, float], Loss],
) -> None:
    problem = Problem((7, 3, 5), has_bias=True)
    logits = F.linear(problem.hidden, problem.weight, problem.bias)
    expected = F.cross_entropy(logits, problem.targets, reduction="sum")
    reported = path(problem, 0.5).nll
    torch.testing.assert_close(reported, expected.detach())
    assert not reported.requires_grad


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_no_gradient_is_made_when_none_is_needed(
    mode: Callable[[], torch.no_grad], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem((7, 3, 5), has_bias=True)

    def forbidden(*args: object, **kwargs: object) -> Tensor:
        raise AssertionError("a gradient was allocated")

    monkeypatch.setattr(torch, "zeros_like", forbidden)
    monkeypatch.setattr(torch, "empty_like", forbidden)
    with mode():
        fused = problem.fused(0.1)
    assert float(fused.nll) > 0


def test_a_batch_without_tokens_has_no_loss() -> None:
    problem = Problem((0, 3, 5), has_bias=False)
    assert float(problem.fused(0.1).nll) == 0
