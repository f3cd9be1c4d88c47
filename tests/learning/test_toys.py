"""Tasks that a correct model must really learn, and look at the right place for."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from regard.align.aligner import train_aligner
from regard.align.error_rate import error_rate
from regard.align.pharaoh import Gold
from regard.build import ARCHITECTURES
from regard.data.batching import Batch
from regard.data.toys import SYMBOLS
from regard.decoding.config import DecodingConfig
from regard.decoding.request import Specials
from regard.decoding.search import decode
from regard.decoding.stepper import ModelStepper
from regard.lens.capture import capture
from regard.lens.choosing import rank_heads
from regard.lens.forced import forced_alignment
from regard.lens.record import kind_of
from regard.models.bahdanau import BahdanauConfig
from regard.models.bytenet import ByteNetConfig
from regard.models.convs2s import ConvS2SConfig
from regard.models.deep_att import DeepAttConfig
from regard.models.gnmt import GNMTConfig
from regard.models.interface import ModelConfig, Seq2Seq
from regard.models.luong import LuongConfig
from regard.models.seq2seq import EncoderDecoderConfig
from regard.models.transformer import PRESETS
from regard.nn.recurrent import CELLS, CellKind
from regard.text.pair import TokeniserPair
from regard.text.words import Words
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


NANO = replace(PRESETS["nano"], norm_place="pre", dropout=0.0)


def learn(
    toy: Toy, config: TrainConfig, batch_size: int, shape: ModelConfig = NANO
) -> Seq2Seq[Any]:
    """A small model after training."""
    torch.manual_seed(config.seed)
    _, architecture = ARCHITECTURES[shape.arch]
    model = architecture(shape, toy.vocabulary, toy.vocabulary)
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


@cache
def nano_transformer(task: str) -> tuple[Toy, Seq2Seq[Any]]:
    """A task, and a model that was trained on it once for every test that asks."""
    toy = Toy(TASKS[task], num_symbols=12, max_length=10)
    config = TrainConfig(
        steps=800, learning_rate=3e-3, warmup=100, schedule="cosine", label_smoothing=0.0
    )
    return toy, learn(toy, config, batch_size=64)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_a_nano_transformer_learns_the_task(task: str) -> None:
    toy, model = nano_transformer(task)
    assert toy.exact_match(model, 1000, random.Random("unseen")) >= 0.99


# Where the symbol at place t of n came from.
ORIGINS: dict[str, Callable[[int, int], int]] = {
    "copy": lambda t, n: t,
    "reverse": lambda t, n: n - 1 - t,
}


def drawn_in_words(toy: Toy, num_pairs: int, dice: random.Random) -> list[list[list[str]]]:
    """Sequences and what the task makes of them, as an aligner reads them."""
    sources = [toy.draw(dice) for _ in range(num_pairs)]
    sides = sources, [toy.task(source) for source in sources]
    return [[[SYMBOLS[s - FIRST_SYMBOL] for s in symbols] for symbols in side] for side in sides]


def joined(sides: list[list[list[str]]]) -> list[list[str]]:
    return [[" ".join(words) for words in side] for side in sides]


@pytest.mark.slow
@pytest.mark.parametrize("task", ORIGINS)
def test_the_chosen_head_aligns_with_an_error_below_two_percent(task: str) -> None:
    toy, model = nano_transformer(task)
    words = Words([f" {symbol}" for symbol in SYMBOLS[: toy.num_symbols]])
    tokenisers = TokeniserPair(words, words)
    # Chosen by agreement with the statistical aligner: no gold is spent on it.
    known = drawn_in_words(toy, 300, random.Random("known"))
    reference = train_aligner(*known).align(*known)
    sources, targets = joined(known)
    choices = [
        rank_heads(model, tokenisers, sources, targets, reference, is_shifted=is_shifted)[0]
        for is_shifted in (False, True)
    ]
    best = max(choices, key=lambda choice: choice.agreement)
    unseen = drawn_in_words(toy, 300, random.Random("unseen"))
    found = forced_alignment(model, tokenisers, *joined(unseen), reading=best.reading)
    gold = []
    for source in unseen[0]:
        links = frozenset((ORIGINS[task](t, len(source)), t) for t in range(len(source)))
        gold.append(Gold(links, links))
    error = error_rate([frozenset(alignment.links) for alignment in found], gold)
    assert error.aer < 0.02, best


def test_a_nano_transformer_learns_to_copy_short_sequences_in_seconds() -> None:
    toy = Toy(TASKS["copy"], num_symbols=5, max_length=3)
    config = TrainConfig(
        steps=150, learning_rate=5e-3, warmup=20, schedule="cosine", label_smoothing=0.0
    )
    model = learn(toy, config, batch_size=48)
    assert toy.exact_match(model, 200, random.Random("unseen")) == 1.0


LUONG = LuongConfig(d_model=64, layers=1, dropout=0.0)
FREE_LUONG = replace(LUONG, input_feeding=False)

# What attends, the task it learns, and the optimiser steps it is given.
ATTENTIVE: dict[str, tuple[ModelConfig, str, int]] = {
    "transformer": (NANO, "reverse", 500),
    "bahdanau": (BahdanauConfig(d_model=64, d_align=64, dropout=0.0), "reverse", 500),
    "luong-dot": (replace(FREE_LUONG, score="dot"), "reverse", 500),
    "luong-general": (LUONG, "reverse", 500),
    "luong-concat": (replace(FREE_LUONG, score="concat"), "reverse", 500),
    "luong-local-p": (replace(FREE_LUONG, reach="local-p", half_width=3), "reverse", 500),
    "luong-local-m": (replace(FREE_LUONG, reach="local-m", half_width=2), "copy", 500),
    "deep-att": (DeepAttConfig(d_model=64, dropout=0.0), "reverse", 500),
    "gnmt": (GNMTConfig(d_model=64, dropout=0.0), "reverse", 500),
    "convs2s": (ConvS2SConfig(d_model=64, d_hidden=64, dropout=0.0), "reverse", 500),
}


@torch.no_grad()
def share_aligned(
    model: Seq2Seq[Any], toy: Toy, place: Callable[[int, int], int], within: int
) -> float:
    """How often the head that does so most looks, for each symbol, at the place it came from.

    GNMT's upper encoder layers read rightwards, and a symbol may be found in the state after its
    own: there a place is right `within` one.
    """
    dice = random.Random("alignment")
    counts: dict[tuple[str, int], list[bool]] = {}
    for _ in range(50):
        source = toy.draw(dice)
        target = toy.task(source)
        tokens = torch.tensor([[*source, EOS]])
        target_in = torch.tensor([[BOS, *target]])
        with capture(model.eval()) as seen:
            memory = model.encode(tokens, torch.ones_like(tokens, dtype=torch.bool))
            model.decode(memory, target_in, torch.ones_like(target_in, dtype=torch.bool))
        for site, calls in seen.calls.items():
            if kind_of(site) == "cross":
                weights = torch.cat(calls, 2)[0]  # H T S
                for head, matrix in enumerate(weights):
                    looked = matrix[: len(target)].argmax(-1).tolist()
                    hits = [
                        0 <= at - place(t, len(source)) <= within for t, at in enumerate(looked)
                    ]
                    counts.setdefault((site, head), []).extend(hits)
    return max(sum(hits) / len(hits) for hits in counts.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTENTIVE)
def test_a_model_with_attention_learns_the_task_and_where_to_look(name: str) -> None:
    shape, task, steps = ATTENTIVE[name]
    toy = Toy(TASKS[task], num_symbols=12, max_length=10)
    config = TrainConfig(
        steps=steps, learning_rate=5e-3, warmup=50, schedule="cosine", label_smoothing=0.0
    )
    model = learn(toy, config, 64, shape)
    assert toy.exact_match(model, 500, random.Random("unseen")) >= 0.95
    within = 1 if name == "gnmt" else 0
    assert share_aligned(model, toy, ORIGINS[task], within) >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS)
def test_a_model_without_attention_learns_short_sequences(cell: CellKind) -> None:
    toy = Toy(TASKS["copy"], num_symbols=8, max_length=4)
    config = TrainConfig(
        steps=600, learning_rate=5e-3, warmup=50, schedule="cosine", label_smoothing=0.0
    )
    shape = EncoderDecoderConfig(cell=cell, d_model=96, layers=1, dropout=0.0)
    model = learn(toy, config, 64, shape)
    assert toy.exact_match(model, 500, random.Random("unseen")) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize(("task", "max_length"), [("copy", 10), ("reverse", 4)])
def test_bytenet_learns_without_attention(task: str, max_length: int) -> None:
    toy = Toy(TASKS[task], num_symbols=8, max_length=max_length)
    config = TrainConfig(
        steps=400, learning_rate=3e-3, warmup=50, schedule="cosine", label_smoothing=0.0
    )
    shape = ByteNetConfig(d_model=96, max_dilation=4, encoder_sets=1, decoder_sets=1, dropout=0.0)
    model = learn(toy, config, 64, shape)
    assert toy.exact_match(model, 500, random.Random("unseen")) >= 0.95
