"""Requests decoded, watched or not, one after the other or by several workers at a time."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from regard.decoding.config import DecodingConfig
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.request import Request, Specials
from regard.decoding.search import decode_batch, draws_of
from regard.decoding.shortlist import Shortlist, decode_narrowly
from regard.decoding.stepper import Stepper
from regard.decoding.workers import Workers
from regard.lens.capture import Capture, capture
from regard.lens.coverage import rank_by_coverage
from regard.metrics.consensus import expected_likeness
from regard.models.interface import Seq2Seq

Watched = tuple[Hypothesis, list[Capture]]
"""A hypothesis, and what each model looked at when it was found, if it was watched."""
Crew = Workers[tuple[Request, DecodingConfig], list[list[Watched]]]


class Searcher:
    """A stepper driven through requests, its models watched where that is asked for.

    Args:
        stepper: what is driven.
        models: those behind it: one, or the members of an ensemble.
        specials: the tokens that begin, end and pad a target.
        shortlist: the target tokens that each source token may become; all, if None.
    """

    def __init__(
        self,
        stepper: Stepper,
        models: Sequence[Seq2Seq[Any]],
        specials: Specials,
        shortlist: Shortlist | None = None,
    ) -> None:
        self.stepper = stepper
        self.models = models
        self.specials = specials
        self.shortlist = shortlist
        self._crew: Crew | None = None

    def results(
        self, asked: Sequence[Request], config: DecodingConfig, *, is_watched: bool, workers: int
    ) -> Iterator[tuple[Request, list[list[Watched]]]]:
        """What became of each request, in the order in which they are done.

        Args:
            asked: the requests.
            config: how to search.
            is_watched: whether to keep what the models looked at.
            workers: how many decode at a time, on a core each; one, if they are watched.

        Yields:
            A request, and for each of its sentences the hypotheses, best first.
        """
        if workers == 1 or len(asked) == 1:
            for request in asked:
                yield request, self.decode(request, config, is_watched=is_watched)
            return
        for number, results in self._workers(workers).results([(each, config) for each in asked]):
            yield asked[number], results

    def _workers(self, number: int) -> Crew:
        """Workers, kept for the next job."""
        if self._crew is None or not self._crew.is_open or self._crew.number != number:
            if self._crew is not None:
                self._crew.close()
            self.stepper.prepare()
            self._crew = Workers(lambda task: self.decode(*task, is_watched=False), number)
        return self._crew

    def decode(
        self, request: Request, config: DecodingConfig, *, is_watched: bool
    ) -> list[list[Watched]]:
        """For each sentence its hypotheses, best first, and what the models looked at.

        Several samples are drawn one after the other, each watched for itself. Coverage and
        consensus rank everything a search kept.
        """
        has_coverage = config.coverage > 0 and not config.sample
        has_consensus = config.consensus > 0
        is_watched = is_watched or config.needs_attention
        lengths = request.source_mask.sum(1).tolist()
        is_ranked = (has_coverage or has_consensus) and not config.sample
        search = replace(config, n_best=config.beam) if is_ranked else config
        found: list[list[Watched]] = [[] for _ in request.numbers]
        for draw in draws_of(search):
            with ExitStack() as stack:
                watched = self.models if is_watched else []
                seen = [stack.enter_context(capture(model)) for model in watched]
                results = self._search(request, draw)
            for place, hypotheses in enumerate(results):
                if has_coverage:
                    hypotheses = rank_by_coverage(hypotheses, seen, lengths[place], config.coverage)
                found[place] += [(hypothesis, seen) for hypothesis in hypotheses]
        if has_consensus:
            found = [_agreed(each, config) for each in found]
        ranked = [sorted(each, key=lambda pair: -pair[0].score) for each in found]
        return [each[: config.n_best] for each in ranked]

    def _search(self, request: Request, config: DecodingConfig) -> list[list[Hypothesis]]:
        if self.shortlist is None:
            return decode_batch(self.stepper, request, self.specials, config)
        return decode_narrowly(self.stepper, request, self.specials, config, self.shortlist)


def _agreed(found: Sequence[Watched], config: DecodingConfig) -> list[Watched]:
    """With how like the reference each may expect to be for a score.

    Samples count alike: the probable ones are drawn more often.
    """
    log_weights = [0.0 if config.sample else config.consensus * h.score for h, _ in found]
    expected = expected_likeness([h.tokens for h, _ in found], log_weights)
    return [(replace(h, score=s), seen) for (h, seen), s in zip(found, expected, strict=True)]
