"""Tasks that a correct Transformer must really learn: copy, reverse, sort."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch

from regard.data.batching import Batch
from regard.decoding.config import DecodingConfig
from regard.decoding.request import Specials
from regard.decoding.search import decode
from regard.decoding.stepper import ModelStepper
from regard.models.interface import Seq2Seq
from regard.models.transformer import PRESETS, Transformer
from regard.train.config import TrainConfig
from regard.train.objective import batch_loss
from regard.train.optimiser import build_optimiser
from regard.train.schedule import learning_rate

PAD, UNK, BOS, EOS, FIRST_SYMBOL = range(5)
SPECIALS = Specials(PAD, BOS, EOS)
GREEDY = DecodingConfig(beam=1)

Symbols = list[int]
TASKS: dict[str, Callable[[Symbols], Symbols]] = {
    "copy": lambda symbols: symbols,
    "reverse": lambda symbols: symbols[::-1],
    "sort": sorted,
}


@dataclass(frozen=True)
class Toy:
    """Random sequences of up to `max_length` symbols, and what a task makes of them."""

    task: Callable[[Symbols], Symbols]
    num_symbols: int
    max_length: int

    @property
    def vocabulary(self) -> int:
        return FIRST_SYMBOL + self.num_symbols

    def draw(self, dice: random.Random) -> Symbols:
        length = dice.randint(1, self.max_length)
        return dice.choices(range(FIRST_SYMBOL, self.vocabulary), k=length)

    def batches(self, size: int, dice: random.Random) -> Iterator[Batch]:
        """Batches without end, no two alike."""
        while True:
            sources = [self.draw(dice) for _ in range(size)]
            targets = [self.task(source) for source in sources]
            source = padded([[*tokens, EOS] for tokens in sources])
            target_out = padded([[*tokens, EOS] for tokens in targets])
            yield Batch(
                source=source,
                source_mask=source != PAD,
                target_in=padded([[BOS, *tokens] for tokens in targets]),
                target_out=target_out,
                target_mask=target_out != PAD,
                indices=np.arange(size),
            )

    def exact_match(self, model: Seq2Seq[Any], num_sequences: int, dice: random.Random) -> float:
        """The share of new sequences that the model answers without a mistake."""
        sources = [self.draw(dice) for _ in range(num_sequences)]
        found = decode(ModelStepper(model.eval()), sources, SPECIALS, GREEDY)
        answers = [list(hypotheses[0].tokens) for hypotheses in found]
        expected = [self.task(source) for source in sources]
        num_right = sum(answer == wish for answer, wish in zip(answers, expected, strict=True))
        return num_right / num_sequences


def padded(sequences: list[Symbols]) -> np.ndarray[Any, np.dtype[np.int64]]:
    array = np.full((len(sequences), max(map(len, sequences))), PAD, dtype=np.int64)
    for row, tokens in enumerate(sequences):
        array[row, : len(tokens)] = tokens
    return array


def learn(toy: Toy, config: TrainConfig, batch_size: int) -> Seq2Seq[Any]:
    """A nano Transformer after training."""
    torch.manual_seed(config.seed)
    nano = replace(PRESETS["nano"], norm_place="pre", dropout=0.0)
    model = Transformer(nano, toy.vocabulary, toy.vocabulary)
    optimiser = build_optimiser(model, config)
    batches = toy.batches(batch_size, random.Random(config.seed))
    for step, batch in zip(range(1, config.steps + 1), batches, strict=False):
        rate = learning_rate(
            config.schedule,
            step,
            peak=config.learning_rate,
            warmup=config.warmup,
            total=config.steps,
        )
        optimiser.zero_grad()
        loss = batch_loss(model, batch, config.label_smoothing)
        (loss.smoothed / batch.target_mask.sum()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        optimiser.step(rate)
    return model


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_a_nano_transformer_learns_the_task(task: str) -> None:
    toy = Toy(TASKS[task], num_symbols=12, max_length=10)
    config = TrainConfig(
        steps=800, learning_rate=3e-3, warmup=100, schedule="cosine", label_smoothing=0.0
    )
    model = learn(toy, config, batch_size=64)
    assert toy.exact_match(model, 1000, random.Random("unseen")) >= 0.99


def test_a_nano_transformer_learns_to_copy_short_sequences_in_seconds() -> None:
    toy = Toy(TASKS["copy"], num_symbols=5, max_length=3)
    config = TrainConfig(
        steps=150, learning_rate=5e-3, warmup=20, schedule="cosine", label_smoothing=0.0
    )
    model = learn(toy, config, batch_size=48)
    assert toy.exact_match(model, 200, random.Random("unseen")) == 1.0
