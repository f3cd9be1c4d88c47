"""Learning from a batch: as a whole, or cut among the cores.

Two cores that share every matrix product meet at a barrier after each of two thousand
operations and wait for one another; what only one core can do, drawing random numbers, say,
stops both. With a part of the batch each, from end to end, they meet once, to add up their
gradients.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
import torch

from regard.data.batching import Batch
from regard.native.workspace import Packs, Workspace, working_in
from regard.nn.dropout import drawing_from
from regard.shapes import Tensor
from regard.train.cores import Cores
from regard.train.loss import Loss

BatchLoss = Callable[[Batch], Loss]
_Work = TypeVar("_Work")

# Target tokens in a part, about. Small parts keep fewer activations at a time, and in faster
# memory; but every operation is begun once a part.
PART_TOKENS = 1024


class Learned(NamedTuple):
    """What was learned from a batch.

    Attributes:
        smoothed: the loss that is minimised, summed over tokens.
        nll: −log p of the targets, summed over tokens.
        gradients: one a parameter; None where a parameter took no part.
    """

    smoothed: float
    nll: float
    gradients: list[Tensor | None]


def learn(loss: BatchLoss, parameters: Sequence[Tensor], batch: Batch, scale: float) -> Learned:
    """The gradients of `scale` times the loss on a batch."""
    workspace = Workspace(Packs())
    with working_in(workspace):
        learned = _learn(loss, parameters, batch, scale)
    return _with_sums(learned, parameters, workspace)


def _learn(loss: BatchLoss, parameters: Sequence[Tensor], part: Batch, scale: float) -> Learned:
    """The same, but for what is in this thread's workspace then."""
    found = loss(part)
    gradients = torch.autograd.grad(found.smoothed * scale, parameters, allow_unused=True)
    return Learned(float(found.smoothed.detach()), float(found.nll), list(gradients))


def _with_sums(learned: Learned, parameters: Sequence[Tensor], workspace: Workspace) -> Learned:
    """What was learned, together with the sums that are in the workspace."""
    sums = workspace.gradients()
    return _sum([learned, Learned(0.0, 0.0, [sums.get(parameter) for parameter in parameters])])


class Shards:
    """Equals `learn` but for rounding and random numbers, with every core on parts of its own.

    Sums are taken in the order of the parts, and each part draws from a generator of its own,
    seeded from torch's: the result depends on how many cores there are, and not on which is
    the faster.

    Args:
        loss: the loss of a batch; called in several threads at once.
        parameters: whose gradients to compute.
        cores: who learn from a part at a time.
    """

    def __init__(self, loss: BatchLoss, parameters: Sequence[Tensor], cores: Cores) -> None:
        self._loss = loss
        self._parameters = parameters
        self._cores = cores

    def learn(self, batch: Batch, scale: float) -> Learned:
        """The gradients of `scale` times the loss on a batch."""
        num_cores = self._cores.number
        parts = _cut(batch, max(num_cores, round(batch.target_mask.size / PART_TOKENS)))
        seeds: list[int] = torch.randint(2**62, (len(parts),)).tolist()
        shares = _deal(list(zip(parts, seeds, strict=True)), num_cores)
        learned = self._cores.results(partial(self._learn, scale, Packs()), shares)
        return _sum(learned, self._cores)

    def _learn(self, scale: float, packs: Packs, share: Sequence[tuple[Batch, int]]) -> Learned:
        """What a core learns from its share."""
        workspace = Workspace(packs)
        total: Learned | None = None
        with working_in(workspace):
            for part, seed in share:
                with drawing_from(torch.Generator().manual_seed(seed)):
                    learned = _learn(self._loss, self._parameters, part, scale)
                total = learned if total is None else _sum([total, learned])
        assert total is not None, "a share has a part"
        return _with_sums(total, self._parameters, workspace)


def _cut(batch: Batch, num_parts: int) -> list[Batch]:
    """The batch in parts of about as many tokens each; none is empty.

    From the shortest sources to the longest, so that a part has less padding than the whole.
    """
    size = len(batch.indices)
    lengths = batch.source_mask.sum(1)
    order = np.argsort(lengths, kind="stable")
    tokens = np.cumsum((lengths + batch.target_mask.sum(1))[order])
    number = np.arange(1, min(num_parts, size))
    ends = np.searchsorted(tokens, tokens[-1] * number / min(num_parts, size)) + 1
    # Every part has a sentence, and leaves as many as there are parts to come.
    ends = np.maximum.accumulate(ends - number) + number
    ends = np.minimum(ends, size - len(number) - 1 + number)
    return [batch.only(rows) for rows in np.split(order, ends)]


def _deal(work: Sequence[_Work], num_cores: int) -> list[list[_Work]]:
    """One part to each core, then one more to each from the last core to the first, and so on."""
    rounds = [work[begin : begin + num_cores] for begin in range(0, len(work), num_cores)]
    shares: list[list[_Work]] = [[] for _ in range(min(num_cores, len(work)))]
    for number, parts in enumerate(rounds):
        for share, part in zip(shares if number % 2 == 0 else shares[::-1], parts, strict=False):
            share.append(part)
    return shares


def _sum(learned: Sequence[Learned], cores: Cores | None = None) -> Learned:
    """Add up in order, into the tensors of the first part that has each."""
    add = torch._foreach_add_ if cores is None else partial(cores.each, torch._foreach_add_)
    first, *others = learned
    total = list(first.gradients)
    for other in others:
        pairs = list(zip(total, other.gradients, strict=True))
        both = [(mine, its) for mine, its in pairs if mine is not None and its is not None]
        if both:
            add([mine for mine, _ in both], [its for _, its in both])
        total = [its if mine is None else mine for mine, its in pairs]
    smoothed, nll = sum(each.smoothed for each in learned), sum(each.nll for each in learned)
    return Learned(smoothed, nll, total)
