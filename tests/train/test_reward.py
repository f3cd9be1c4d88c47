"""Learning from a reward: the estimate is right, and it raises the reward."""

import itertools
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.data.batching import Batch
from regard.decoding.config import DecodingConfig
from regard.decoding.search import decode
from regard.decoding.stepper import ModelStepper
from regard.metrics.gleu import sentence_gleu
from regard.models.bahdanau import Bahdanau, BahdanauConfig
from regard.nn.dropout import drawing_from
from regard.shapes import Tensor
from regard.train.config import TrainConfig
from regard.train.objective import batch_loss
from regard.train.optimiser import build_optimiser
from regard.train.reward import reward_loss
from tests.learning.test_toys import BOS, EOS, PAD, SPECIALS, TASKS, Toy
from tests.train.recording import equal, everything_random, train_in_parts

CONFIG = BahdanauConfig(d_model=32, d_align=32, dropout=0.0)


def one_pair(source: list[int], target: list[int]) -> Batch:
    read, write = np.array([[*source, EOS]]), np.array([[*target, EOS]])
    return Batch(
        source=read,
        source_mask=np.ones_like(read, dtype=bool),
        target_in=np.array([[BOS, *target]]),
        target_out=write,
        target_mask=np.ones_like(write, dtype=bool),
        indices=np.arange(1),
    )


def expected_reward(model: Bahdanau, batch: Batch, vocabulary: int) -> Tensor:
    """By enumeration of everything that could be drawn."""
    reference = batch.target_out[0, :-1].tolist()
    limit = 2 * len(reference) + 2
    source, mask = torch.from_numpy(batch.source), torch.from_numpy(batch.source_mask)
    words = [token for token in range(vocabulary) if token not in (PAD, BOS, EOS)]
    total = torch.zeros(())
    for length in range(limit):
        for tokens in itertools.product(words, repeat=length):
            fed = torch.tensor([[BOS, *tokens]])
            logits = model(source, mask, fed, torch.ones_like(fed, dtype=torch.bool))[0]
            log_probs = logits.index_fill(-1, torch.tensor([PAD, BOS]), -torch.inf).log_softmax(-1)
            # At the last step the end is not drawn: it comes by itself.
            drawn = [*tokens] if length == limit - 1 else [*tokens, EOS]
            chosen = log_probs[torch.arange(len(drawn)), drawn].sum()
            total = total + chosen.exp() * sentence_gleu(tokens, reference)
    return total


def test_the_mean_of_many_estimates_is_the_gradient_of_the_expected_reward() -> None:
    vocabulary = 6  # two words and the unknown one
    torch.manual_seed(0)
    model = Bahdanau(replace(CONFIG, d_model=4, d_align=4), vocabulary, vocabulary).eval()
    with torch.no_grad():
        model.output.weight.mul_(2)
    batch = one_pair([4, 5], [5])
    parameters = [model.initial.bias, model.output.weight]
    exact = torch.autograd.grad(expected_reward(model, batch, vocabulary), parameters)
    num_samples = 4000
    loss = reward_loss(model, batch, SPECIALS, num_samples)
    estimated = torch.autograd.grad(-loss, parameters)
    for one, other in zip(exact, estimated, strict=True):
        assert (one - other).norm() < 0.15 * one.norm()
        assert one.norm() > 1e-3


def test_the_same_generator_draws_the_same_samples() -> None:
    torch.manual_seed(0)
    model = Bahdanau(CONFIG, 9, 9).eval()
    batch = one_pair([4, 5, 6], [6, 5, 4])
    losses = []
    for seed in (1, 1, 2):
        with drawing_from(torch.Generator().manual_seed(seed)):
            losses.append(reward_loss(model, batch, SPECIALS, 4).item())
    assert losses[0] == losses[1] != losses[2]


def test_a_resumed_training_on_rewards_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    few = {"batch_tokens": 60, "accumulate": 1, "validate_every": 9, "average": 0}
    found = []
    for name, stops in (("unbroken", []), ("resumed", [2])):
        (tmp_path / name).mkdir()
        config = everything_random(tmp_path / name, steps=3, reward=0.5, reward_samples=2, **few)
        found.append(train_in_parts(tmp_path / name / "run", config, stops))
    unbroken, resumed = found
    assert resumed.losses == unbroken.losses
    assert equal(resumed.tensors, unbroken.tensors)


def mean_gleu(model: Bahdanau, toy: Toy) -> float:
    dice = random.Random("unseen")
    sources = [toy.draw(dice) for _ in range(200)]
    found = decode(ModelStepper(model.eval()), sources, SPECIALS, DecodingConfig(beam=1))
    scores = [
        sentence_gleu(hypotheses[0].tokens, toy.task(source))
        for hypotheses, source in zip(found, sources, strict=True)
    ]
    return sum(scores) / len(scores)


@pytest.mark.slow
def test_learning_from_the_reward_alone_raises_sentence_gleu_on_a_toy() -> None:
    torch.manual_seed(1)
    toy = Toy(TASKS["reverse"], num_symbols=6, max_length=5)
    model = Bahdanau(CONFIG, toy.vocabulary, toy.vocabulary)
    optimiser = build_optimiser(model, TrainConfig())
    batches = toy.batches(32, random.Random(1))
    for batch in itertools.islice(batches, 35):
        optimiser.zero_grad()
        (batch_loss(model, batch, 0.0).smoothed / batch.target_mask.sum()).backward()
        optimiser.step(5e-3)
    before = mean_gleu(model, toy)
    for batch in itertools.islice(batches, 60):
        optimiser.zero_grad()
        (reward_loss(model.eval(), batch, SPECIALS, 8) / len(batch.indices)).backward()
        optimiser.step(2e-3)
    after = mean_gleu(model, toy)
    assert before < 0.8
    assert after > before + 0.05
