"""Tasks that a correct model must learn: copy, reverse, sort.

    copy      ba ku mi ba  →  ba ku mi ba
    reverse   ba ku mi ba  →  ba mi ku ba
    sort      ba ku mi ba  →  ba ba ku mi

Copying needs attention to the same position, reversing to the mirrored one, and sorting to what
stands there rather than where. A model that cannot learn these in a minute has a bug.
"""

import random
from collections.abc import Callable, Mapping

from regard.data.corpus import Example, Splits
from regard.errors import ConfigError

SYMBOLS = tuple(consonant + vowel for consonant in "bklmt" for vowel in "aeiu")
"""One symbol is one word, in alphabetical order."""

Words = list[str]
TASKS: Mapping[str, Callable[[Words], Words]] = {
    "copy": lambda words: words,
    "reverse": lambda words: words[::-1],
    "sort": sorted,
}
SIZE = 12_000


def toy(task: str, *, size: int = SIZE, seed: int = 0, max_length: int = 12) -> Splits:
    """A corpus whose three splits share no source; a pure function of its arguments.

    One sentence in 24 goes to test and one in 48 to valid.

    Args:
        task: one of TASKS.
        size: pairs in all three splits together.
        seed: of the random sequences.
        max_length: of a sequence; lengths from 1 up are equally likely while short ones last.

    Raises:
        ConfigError: there is no such task, or not that many different sequences.
    """
    if task not in TASKS:
        raise ConfigError(f"no toy task is called {task!r}; choose one of {', '.join(TASKS)}")
    num_valid, num_test = size // 48, size // 24
    if not num_valid:
        raise ConfigError(f"size = {size:,} is too small for three splits; use 48 or more")
    num_sequences = sum(len(SYMBOLS) ** length for length in range(1, max_length + 1))
    if size > num_sequences // 2:
        raise ConfigError(
            f"size = {size:,} is more than half of the {num_sequences:,} sequences of up to "
            f"{max_length:,} symbols; raise max_length or lower size"
        )
    generator = random.Random(f"{task} {seed}")
    sources: dict[str, Example] = {}
    while len(sources) < size:
        words = generator.choices(SYMBOLS, k=generator.randint(1, max_length))
        source = " ".join(words)
        sources.setdefault(source, Example(source, " ".join(TASKS[task](words))))
    examples = list(sources.values())
    # Short sequences come up early, before they run out: mixed, every split has its share of them.
    generator.shuffle(examples)
    return Splits(
        train=examples[num_valid + num_test :],
        valid=examples[:num_valid],
        test=examples[num_valid : num_valid + num_test],
    )
