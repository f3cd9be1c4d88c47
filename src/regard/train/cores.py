"""Cores with a share of the work each, from end to end, that meet when all of it is done.

PyTorch cuts every operation on a large tensor among the cores, which meet at a barrier after each.
A step has hundreds of them on parameters alone. Beside another program a core waits at every one
until the other is given the processor again, and a training beside which something small runs
takes many times as long.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch

from regard.shapes import Tensor

Share = TypeVar("Share")
Result = TypeVar("Result")


class Cores:
    """Threads of one core each; one alone is the caller's own, and cut by PyTorch as ever.

    Args:
        number: how many.

    Attributes:
        number: how many.
        busy: seconds of processor time so far, each time of the busiest.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.busy = 0.0
        # How many threads an operation is split over is each thread's own setting.
        self._pool = ThreadPoolExecutor(number, "core", torch.set_num_threads, (1,))

    def results(self, work: Callable[[Share], Result], shares: Sequence[Share]) -> list[Result]:
        """What the work makes of each share, in their order; one share a core."""
        if self.number == 1:
            return [work(share) for share in shares]

        def timed(share: Share) -> tuple[Result, float]:
            started = time.thread_time()
            return work(share), time.thread_time() - started

        futures = [self._pool.submit(timed, share) for share in shares]
        found = [future.result() for future in futures]
        self.busy += max((seconds for _, seconds in found), default=0.0)
        return [result for result, _ in found]

    @torch.no_grad()
    def each(self, work: Callable[..., Any], *columns: Sequence[Tensor]) -> list[Any]:
        """Do the work on some of the tensors of every column at a time, equally many numbers each.

        Args:
            work: takes a list for each column; what it returns is not added up.
            columns: equally long; what stands in one place belongs together.

        Returns:
            What each of the shares came to.
        """

        @torch.no_grad()
        def on_some(places: Sequence[int]) -> Any:
            return work(*([column[place] for place in places] for column in columns))

        shares = equal_shares([tensor.numel() for tensor in columns[0]], self.number)
        return self.results(on_some, shares)


def equal_shares(sizes: Sequence[int], number: int) -> list[list[int]]:
    """Places of things in at most so many shares of about the same size, none of them empty.

    The largest first, always to the one that has least.
    """
    shares: list[list[int]] = [[] for _ in range(number)]
    held = [0] * number
    for place in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
        least = held.index(min(held))
        shares[least].append(place)
        held[least] += sizes[place]
    return [sorted(share) for share in shares if share]
