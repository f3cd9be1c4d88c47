"""A stepper that looks its probabilities up, and a request for it."""

import random
from collections.abc import Callable, Sequence

import torch

from regard.decoding.request import Request, Specials
from regard.shapes import Bool, Int, Tensor

PAD, UNK, BOS, EOS = range(4)
SPECIALS = Specials(pad=PAD, bos=BOS, eos=EOS)
VOCABULARY = 6
WORDS = (UNK, 4, 5)  # what a target may be made of, next to its end

Source = tuple[int, ...]
Prefix = tuple[int, ...]
Table = Callable[[Source, Prefix], Sequence[float]]
State = list[tuple[Source, Prefix]]


class TableStepper:
    """The probabilities of the next token, from a table by source and prefix.

    Its state is the sources and prefixes themselves, so that nothing can go wrong in it.
    """

    def __init__(self, table: Table) -> None:
        self.table = table

    def prepare(self) -> None:
        """A table is ready."""

    def start(
        self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"], max_length: int
    ) -> State:
        return [
            (tuple(tokens[mask].tolist()), ())
            for tokens, mask in zip(source, source_mask, strict=True)
        ]

    def step(self, state: State, tokens: Int[Tensor, "R"]) -> Tensor:
        state[:] = [(s, (*p, t)) for (s, p), t in zip(state, tokens.tolist(), strict=True)]
        # The table knows no start token.
        return torch.tensor([list(self.table(s, p[1:])) for s, p in state]).log()

    def reorder(self, state: State, rows: Int[Tensor, "B N"]) -> None:
        state[:] = [state[row] for row in rows.flatten().tolist()]


def random_table(seed: int, *, sharpness: float = 2.0, vocabulary: int = VOCABULARY) -> Table:
    """A distribution for every source and prefix, all of them different."""

    def table(source: Source, prefix: Prefix) -> list[float]:
        dice = random.Random(str((seed, source, prefix)))
        masses = [2.718 ** (sharpness * dice.gauss()) for _ in range(vocabulary)]
        return [mass / sum(masses) for mass in masses]

    return table


def fixed_table(**probabilities: float) -> Table:
    """The same distribution always; `fixed_table(_4=0.7, eos=0.3)`."""
    ids = {"unk": UNK, "eos": EOS, "_4": 4, "_5": 5}
    row = [0.0] * VOCABULARY
    for name, probability in probabilities.items():
        row[ids[name]] = probability
    return lambda source, prefix: row


def request(
    sources: Sequence[Sequence[int]],
    max_lengths: Sequence[int] | int = 5,
    prefixes: Sequence[Sequence[int]] | None = None,
    numbers: Sequence[int] | None = None,
) -> Request:
    lengths = [max_lengths] * len(sources) if isinstance(max_lengths, int) else max_lengths
    return Request.pad(
        sources,
        lengths,
        [()] * len(sources) if prefixes is None else prefixes,
        range(len(sources)) if numbers is None else numbers,
        SPECIALS,
    )
