"""Sentence pairs whose true alignment is known, because they were made from it."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from regard.align.links import Links
from regard.align.pharaoh import Gold

Order = Callable[[random.Random, int], list[int]]


@dataclass(frozen=True)
class ToyCorpus:
    """Word lists and the links between them."""

    sources: list[list[str]]
    targets: list[list[str]]
    links: list[Links]

    @property
    def gold(self) -> list[Gold]:
        return [Gold(links, links) for links in self.links]


def monotone(chosen: random.Random, length: int) -> list[int]:
    return list(range(length))


def reversed_order(chosen: random.Random, length: int) -> list[int]:
    return list(reversed(range(length)))


def make_corpus(
    num_pairs: int,
    order: Order,
    *,
    vocabulary: int = 50,
    noise: float = 0.0,
    inserted: float = 0.0,
    seed: int = 0,
) -> ToyCorpus:
    """Word n becomes Wn, in another order.

    Args:
        num_pairs: of 3 to 9 source words.
        order: which source word each target word is, given their number.
        vocabulary: how many words there are; some are frequent, most are not.
        noise: how often a target word is any word rather than the right one.
        inserted: how often a target word is followed by one that translates nothing.
        seed: of all that is random.
    """
    chosen = random.Random(seed)
    frequency = [1 / (rank + 1) for rank in range(vocabulary)]
    sources, targets, links = [], [], []
    for _ in range(num_pairs):
        source = chosen.choices(range(vocabulary), frequency, k=chosen.randint(3, 9))
        target: list[str] = []
        pairs = set()
        for place in order(chosen, len(source)):
            pairs.add((place, len(target)))
            is_noise = chosen.random() < noise
            word = chosen.randrange(vocabulary) if is_noise else source[place]
            target.append(f"W{word}")
            if chosen.random() < inserted:
                target.append("and")
        sources.append([f"w{word}" for word in source])
        targets.append(target)
        links.append(frozenset(pairs))
    return ToyCorpus(sources, targets, links)
