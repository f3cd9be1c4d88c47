"""Heads switched off, and what it costs: which of them the model needs."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import nn

from regard.attention import Attend, MultiHead
from regard.lens.record import Kind, kind_of
from regard.shapes import Float, Tensor


@contextmanager
def masked_heads(model: nn.Module, heads: Mapping[str, Collection[int]]) -> Iterator[None]:
    """While open, some heads give zeros.

        MHAtt(x, q) = Σ_h ξ_h Att_h(x, q),   ξ_h ∈ {0, 1}

    Michel, Levy & Neubig 2019, equation 1. The weights are what they were; only what the head
    says is silenced, in the fused kernel and in the formula alike.

    Args:
        model: any; afterwards it is as before.
        heads: for each site, such as `decoder.layers.3.cross_attention`, those to switch off,
            counted from 0.
    """
    gated = []
    try:
        for place in _places(model):
            if place.site in heads:
                gates = torch.ones(place.heads, device=next(model.parameters()).device)
                gates[list(heads[place.site])] = 0.0
                place.attend.gates = gates
                gated.append(place.attend)
        assert len(gated) == len(heads), "every site is one of the model's"
        yield
    finally:
        for attend in gated:
            attend.gates = None


def head_importance(
    model: nn.Module,
    measure: Callable[[], float],
    *,
    progress: Callable[[int], None] = lambda num_done: None,
) -> tuple[float, dict[Kind, Float[Tensor, "L H"]]]:
    """How much a measure changes when one head is masked, for every head in turn.

    Michel, Levy & Neubig 2019, section 3.1 ("ablating one head"), where the measure is BLEU.

    Args:
        model: whose heads are masked.
        measure: what to look at, such as the loss on some text, computed with this model.
        progress: told how many more measurements are done.

    Returns:
        The measure of the whole model, and for each kind the difference that each layer and
        head makes: masked minus whole.
    """
    whole = measure()
    progress(1)
    changes: dict[Kind, list[Tensor]] = {}
    for place in _places(model):
        row = torch.zeros(place.heads)
        for head in range(place.heads):
            with masked_heads(model, {place.site: [head]}):
                row[head] = measure() - whole
            progress(1)
        changes.setdefault(kind_of(place.site), []).append(row)
    return whole, {kind: torch.stack(rows) for kind, rows in changes.items()}


def num_heads(model: nn.Module) -> int:
    """How many heads a model has, of all kinds together."""
    return sum(place.heads for place in _places(model))


class _Place(NamedTuple):
    """An attention of a model: where it stands, and how many heads it has."""

    site: str
    attend: Attend
    heads: int


def _places(model: nn.Module) -> list[_Place]:
    """Every attention of a model."""
    found = []
    for name, module in model.named_modules():
        if isinstance(module, Attend):
            site = name.removesuffix(".attend")
            owner = model.get_submodule(site)
            found.append(_Place(site, module, owner.heads if isinstance(owner, MultiHead) else 1))
    return found
