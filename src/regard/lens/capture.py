"""Watch every attention of a model, in whatever the model does while being watched."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from torch import nn

from regard.attention import Attend, watching
from regard.shapes import Float, Tensor


@dataclass(slots=True)
class Capture:
    """The weights of each site, one tensor a call, in the order of the calls.

    A site is a place in the module tree, such as `decoder.layers.3.cross_attention`. The
    tensors are `B H T S` as `Attend` computed them, on the CPU.
    """

    calls: dict[str, list[Float[Tensor, "B H T S"]]] = field(default_factory=dict)

    def add(self, site: str, weights: Float[Tensor, "B H T S"]) -> None:
        self.calls.setdefault(site, []).append(weights.detach().cpu())


@contextmanager
def capture(model: nn.Module) -> Iterator[Capture]:
    """While open, record the weights of every `Attend` in the model, as this thread uses it.

    The explicit formula then runs instead of the fused kernel: the same output to float
    tolerance, somewhat slower.
    """
    record = Capture()
    watchers = {
        module: partial(record.add, name.removesuffix(".attend"))
        for name, module in model.named_modules()
        if isinstance(module, Attend)
    }
    with watching(watchers):
        yield record
