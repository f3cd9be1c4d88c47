"""A whole job: many sentences, decoded in batches, answered in order."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch

from regard.decoding.beam import beam_search
from regard.decoding.config import DecodingConfig
from regard.decoding.greedy import greedy_search
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.penalty import length_penalty
from regard.decoding.request import Request, Specials, always
from regard.decoding.sample import sample
from regard.decoding.stepper import Stepper

# Batches that each of several workers gets at least: who is behind after one can leave the next to
# the others.
TURNS = 2


@torch.inference_mode()
def decode_batch(
    stepper: Stepper, request: Request, specials: Specials, config: DecodingConfig
) -> list[list[Hypothesis]]:
    """Decode one batch by the method that the config names; the best come first.

    Sampling draws once; `draws_of` gives the configs for several draws.
    """
    if config.sample:
        drawn = sample(
            stepper,
            request,
            specials,
            temperature=config.temperature,
            top_k=config.top_k,
            top_p=config.top_p,
            seed=config.seed,
        )
        return [[hypothesis] for hypothesis in drawn]
    penalty = length_penalty(config.penalty, config.alpha)
    if config.beam == 1:
        return [[found] for found in greedy_search(stepper, request, specials, penalty)]
    return beam_search(
        stepper,
        request,
        specials,
        beam=config.beam,
        n_best=config.n_best,
        penalty=penalty,
        early_exit=config.early_exit,
    )


def draws_of(config: DecodingConfig) -> list[DecodingConfig]:
    """What to run for all the hypotheses asked for: a search once, a sampling `n_best` times."""
    if not config.sample:
        return [config]
    seeds = range(config.seed, config.seed + config.n_best)
    return [replace(config, seed=seed, n_best=1) for seed in seeds]


def requests(
    sources: Sequence[Sequence[int]],
    specials: Specials,
    config: DecodingConfig,
    *,
    prefixes: Sequence[Sequence[int]] | None = None,
    device: torch.device | str = "cpu",
    is_wanted: Callable[[int], bool] = always,
    workers: int = 1,
) -> Iterator[Request]:
    """Sentences of any number and length as batches of similar length.

    Args:
        sources: token ids without the end token.
        specials: the tokens treated apart.
        config: how to search; it also sets how long a target may become.
        prefixes: tokens each target must begin with.
        device: where the model lives.
        is_wanted: whether anybody still waits for a sentence, given its number; the sentences
            of a batch that has not begun are left out.
        workers: how many batches are decoded at a time.
    """
    prefixes = prefixes or [()] * len(sources)
    lengths = [len(source) + 1 for source in sources]
    for batch in even_batches(lengths, config.batch_tokens, workers):
        numbers = [n for n in batch if is_wanted(n)]
        if not numbers:
            continue
        yield Request.pad(
            [sources[n] for n in numbers],
            [config.max_length(len(sources[n]) + 1) for n in numbers],
            [prefixes[n] for n in numbers],
            numbers,
            specials,
            device,
            is_wanted,
        )


def decode(
    stepper: Stepper,
    sources: Sequence[Sequence[int]],
    specials: Specials,
    config: DecodingConfig,
    *,
    prefixes: Sequence[Sequence[int]] | None = None,
    device: torch.device | str = "cpu",
) -> list[list[Hypothesis]]:
    """Decode sentences of any number and length; see `requests`.

    Coverage and unknown words need attention to be watched: `regard.api` sees to them.

    Returns:
        For each source in order, its hypotheses, best first.
    """
    found: list[list[Hypothesis]] = [[] for _ in sources]
    for request in requests(sources, specials, config, prefixes=prefixes, device=device):
        for draw in draws_of(config):
            results = decode_batch(stepper, request, specials, draw)
            for number, hypotheses in zip(request.numbers, results, strict=True):
                found[number] += hypotheses
    return [sorted(hypotheses, key=lambda h: -h.score) for hypotheses in found]


def batches_by_budget(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Group the longest first, so that rows × longest stays within the budget.

    A sentence longer than the budget is a batch of its own. Longest first: what does not fit
    into memory fails at once and not at the end.
    """
    order = sorted(range(len(lengths)), key=lambda n: -lengths[n])
    batches: list[list[int]] = []
    for number in order:
        if batches and (len(batches[-1]) + 1) * lengths[batches[-1][0]] <= budget:
            batches[-1].append(number)
        else:
            batches.append([number])
    return batches


def even_batches(lengths: Sequence[int], budget: int, workers: int) -> list[list[int]]:
    """`batches_by_budget`, but such that workers who take one after the other end together.

    Each worker gets equally many, and none is larger than that needs.
    """
    if workers == 1:
        return batches_by_budget(lengths, budget)
    num_least = len(batches_by_budget(lengths, budget))
    turns = max(TURNS, -(-num_least // workers))
    least = bisect_left(
        range(budget), True, key=lambda b: len(batches_by_budget(lengths, b)) <= turns * workers
    )
    return batches_by_budget(lengths, least)
