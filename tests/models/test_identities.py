"""What is true of every architecture."""

import random
from functools import partial
from typing import Any

import pytest
import torch

from regard.attention import Attend
from regard.build import ARCHITECTURES
from regard.lens.capture import capture
from regard.models.interface import Memory, Seq2Seq
from regard.nn.experts import MixtureOfExperts
from regard.shapes import Tensor
from tests.models.architectures import (
    BOS,
    VARIATIONS,
    VOCABULARY,
    Sentences,
    another_token,
    sentences,
    tiny_model,
)

assert_close = partial(torch.testing.assert_close, rtol=1e-4, atol=1e-4)

SOURCE = sentences([5, 2, 7], seed=1)
TARGET = sentences([4, 6, 3], seed=2)


@pytest.fixture(params=VARIATIONS)
def model(request: pytest.FixtureRequest) -> Seq2Seq[Any]:
    return tiny_model(request.param)


def hidden_states(model: Seq2Seq[Any], source: Sentences, target: Sentences) -> Tensor:
    memory = model.encode(source.tokens, source.mask)
    return model.decode(memory, target.tokens, target.mask)


def take_steps(model: Seq2Seq[Any], state: Any, tokens: Tensor) -> Tensor:
    """Feed the columns of `tokens` one after the other; R T D."""
    return torch.stack([model.step(state, column) for column in tokens.T], dim=1)


def test_every_architecture_is_tested_here() -> None:
    assert {config.arch for config in VARIATIONS.values()} == set(ARCHITECTURES)


@torch.no_grad()
def test_cached_decoding_equals_full_decoding(model: Seq2Seq[Any]) -> None:
    memory = model.encode(SOURCE.tokens, SOURCE.mask)
    full = model.decode(memory, TARGET.tokens, TARGET.mask)
    cached = take_steps(model, model.start(memory, max_length=6), TARGET.tokens)
    assert_close(cached[TARGET.mask], full[TARGET.mask])


@torch.no_grad()
def test_a_batch_equals_its_sentences(model: Seq2Seq[Any]) -> None:
    together = hidden_states(model, SOURCE, TARGET)
    for number in range(len(SOURCE)):
        alone = hidden_states(model, SOURCE.alone(number), TARGET.alone(number))
        assert_close(together[number, : alone.shape[1]], alone[0])


@torch.no_grad()
def test_what_stands_in_the_padding_changes_nothing(model: Seq2Seq[Any]) -> None:
    before = hidden_states(model, SOURCE, TARGET)
    other_source = Sentences(SOURCE.tokens.where(SOURCE.mask, 4), SOURCE.mask)
    other_target = Sentences(TARGET.tokens.where(TARGET.mask, 4), TARGET.mask)
    after = hidden_states(model, other_source, other_target)
    assert_close(after[TARGET.mask], before[TARGET.mask])


def test_what_stands_in_the_padding_changes_no_gradient_in_training(model: Seq2Seq[Any]) -> None:
    model.train()

    def gradient(padding: int) -> list[Tensor]:
        torch.manual_seed(0)
        source = Sentences(SOURCE.tokens.where(SOURCE.mask, padding), SOURCE.mask)
        target = Sentences(TARGET.tokens.where(TARGET.mask, padding), TARGET.mask)
        hidden = hidden_states(model, source, target)[TARGET.mask]
        loss = model.output(hidden).log_softmax(-1)[:, 5].sum()
        return list(torch.autograd.grad(loss, list(model.parameters())))

    for one, other in zip(gradient(padding=4), gradient(padding=7), strict=True):
        assert_close(one, other)


@torch.no_grad()
@pytest.mark.parametrize("place", [0, 2, 5])
def test_the_decoder_does_not_look_ahead(model: Seq2Seq[Any], place: int) -> None:
    target = sentences([6, 6, 6], seed=3)
    before = hidden_states(model, SOURCE, target)
    after = hidden_states(model, SOURCE, another_token(target, place))
    # Experts compute the positions that chose them together: in other company, other rounding.
    has_experts = any(isinstance(module, MixtureOfExperts) for module in model.modules())
    tolerance = 1e-6 if has_experts else 0.0
    torch.testing.assert_close(after[:, :place], before[:, :place], rtol=tolerance, atol=tolerance)
    assert (after[:, place:] != before[:, place:]).any(-1).all()


@torch.no_grad()
def test_every_state_depends_on_every_real_source_token(model: Seq2Seq[Any]) -> None:
    before = hidden_states(model, SOURCE.alone(0), TARGET.alone(0))
    for place in range(5):
        source = another_token(SOURCE.alone(0), place)
        after = hidden_states(model, source, TARGET.alone(0))
        assert (after != before).any(-1).all()


@torch.no_grad()
def test_watched_equals_unwatched(model: Seq2Seq[Any]) -> None:
    unwatched = hidden_states(model, SOURCE, TARGET)
    with capture(model) as seen:
        watched = hidden_states(model, SOURCE, TARGET)
    assert_close(watched, unwatched)
    assert len(seen.calls) == sum(isinstance(module, Attend) for module in model.modules())
    assert torch.equal(hidden_states(model, SOURCE, TARGET), unwatched)


def last_state(model: Seq2Seq[Any], memory: Memory, history: list[list[int]]) -> Tensor:
    """The last hidden state of each history, decoded from the beginning; R D."""
    target = torch.tensor(history)
    return model.decode(memory, target, torch.ones_like(target, dtype=torch.bool))[:, -1]


@pytest.mark.parametrize("seed", range(3))
@torch.no_grad()
def test_rows_continue_what_they_were(model: Seq2Seq[Any], seed: int) -> None:
    """A beam opens, rows are copied and dropped, sentences leave and change places."""
    dice = random.Random(seed)
    memory = model.encode(SOURCE.tokens, SOURCE.mask)
    state = model.start(memory, max_length=5)
    histories = [[BOS] for _ in range(len(SOURCE))]
    sentence_of = list(range(len(SOURCE)))
    num_rows = 1  # of each sentence
    hidden = model.step(state, torch.tensor([BOS] * len(SOURCE)))
    for num_kept in (3, 2, 2, 1):
        kept = dice.sample(range(len(histories) // num_rows), num_kept)
        width = dice.randint(1, 3)
        rows = [[s * num_rows + dice.randrange(num_rows) for _ in range(width)] for s in kept]
        model.reorder(state, torch.tensor(rows))
        num_rows = width
        flat = [row for line in rows for row in line]
        tokens = dice.choices(range(4, VOCABULARY), k=len(flat))
        histories = [[*histories[r], token] for r, token in zip(flat, tokens, strict=True)]
        sentence_of = [sentence_of[r] for r in flat]
        hidden = model.step(state, torch.tensor(tokens))
        copied = memory.select(torch.tensor(sentence_of))
        assert_close(hidden, last_state(model, copied, histories))


def test_shared_parameters_are_counted_once() -> None:
    matrix = VOCABULARY * 16
    blocks = {
        name: tiny_model(name).num_parameters() - num_matrices * matrix
        for name, num_matrices in {
            "transformer": 1,
            "transformer-nothing-shared": 3,
        }.items()
    }
    assert len(set(blocks.values())) == 1


def test_frozen_parameters_are_not_counted() -> None:
    model = tiny_model("transformer")
    before = model.num_parameters()
    model.output.weight.requires_grad_(False)
    assert model.num_parameters() == before - VOCABULARY * 16


def test_the_whole_model_is_its_output_layer_over_its_hidden_states(model: Seq2Seq[Any]) -> None:
    logits = model(SOURCE.tokens, SOURCE.mask, TARGET.tokens, TARGET.mask)
    assert_close(logits, model.output(hidden_states(model, SOURCE, TARGET)))
