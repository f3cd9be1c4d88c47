"""What a core keeps at hand while it learns from its share of a batch.

Between two updates no matrix changes: packed once, it serves all parts of the batch and all
cores. And the gradient of a matrix is a sum over all that was multiplied by it: a kernel adds to
a sum that is there as fast as it begins a new one, where autograd begins a new one for every part
and every use and adds them up afterwards, a pass over the memory each.
"""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

import torch

from regard.native.floats import PackedFloats
from regard.native.pairs import PackedPairs
from regard.shapes import Float, Tensor


class Packs:
    """Packed matrices, each packed by the first who asks for it; for several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._packed: dict[Hashable, PackedFloats] = {}

    def get(
        self,
        weights: Sequence[Float[Tensor, "_ D"]],
        biases: Sequence[Float[Tensor, "_"]],
        *,
        is_turned: bool,
        is_low: bool,
    ) -> PackedFloats:
        """As `pack`."""
        key = tuple(weights), tuple(biases), is_turned, is_low
        with self._lock:
            if key not in self._packed:
                self._packed[key] = _pack(weights, biases, is_turned=is_turned, is_low=is_low)
            return self._packed[key]


class Workspace:
    """Packed matrices that cores share, and sums of gradients of a core's own.

    For parameters alone, which nothing changes while the workspace is in use. They may be several
    of the same width, one below the other.

    Args:
        packs: what cores share.
    """

    def __init__(self, packs: Packs) -> None:
        self.packs = packs
        self._sums: dict[tuple[Tensor, ...], Tensor] = {}

    def sum_of(self, *parameters: Tensor) -> Float[Tensor, "F *D"] | None:
        """The sum so far of the gradients of these, to be added to in its place; None: nothing."""
        return self._sums.get(parameters)

    def keep(self, total: Float[Tensor, "F *D"], *parameters: Tensor) -> None:
        """Let this be the sum."""
        assert len(total) == sum(map(len, parameters))
        self._sums[parameters] = total

    def gradients(self) -> dict[Tensor, Tensor]:
        """All that was summed for each parameter."""
        found: dict[Tensor, Tensor] = {}
        for parameters, total in self._sums.items():
            parts = total.split(list(map(len, parameters)))
            for parameter, part in zip(parameters, parts, strict=True):
                found[parameter] = found[parameter] + part if parameter in found else part
        return found


_workspace: ContextVar[Workspace | None] = ContextVar("workspace", default=None)


@contextmanager
def working_in(workspace: Workspace) -> Iterator[None]:
    """Let layers of ours in this thread put the gradients of parameters there, and only there."""
    token = _workspace.set(workspace)
    try:
        yield
    finally:
        _workspace.reset(token)


def are_parameters(*tensors: Tensor) -> bool:
    """Whether nothing was computed to make these."""
    return all(each.is_leaf for each in tensors)


def workspace_of(*parameters: Tensor) -> Workspace | None:
    """The workspace of this thread, if there is one and these are parameters."""
    return _workspace.get() if are_parameters(*parameters) else None


def pack(
    weights: Sequence[Float[Tensor, "_ D"]],
    biases: Sequence[Float[Tensor, "_"]] = (),
    *,
    is_turned: bool = False,
    is_low: bool = False,
) -> PackedFloats:
    """Matrices, one below the other, packed for products; once, if there is a workspace for them.

    Args:
        weights: the matrices.
        biases: added to their outputs; none: nothing.
        is_turned: products are with the matrix itself and not with its transpose.
        is_low: in bfloat16.
    """
    workspace = workspace_of(*weights, *biases)
    get = _pack if workspace is None else workspace.packs.get
    return get(weights, biases, is_turned=is_turned, is_low=is_low)


def _pack(
    weights: Sequence[Tensor], biases: Sequence[Tensor], *, is_turned: bool, is_low: bool
) -> PackedFloats:
    packed = PackedPairs if is_low else PackedFloats
    return packed(stacked(weights), stacked(biases) if biases else None, is_turned=is_turned)


def stacked(tensors: Sequence[Tensor]) -> Tensor:
    """One below the other."""
    return torch.cat(list(tensors)) if len(tensors) > 1 else tensors[0]
