"""The attention behind one translation: every layer and head, of every kind there is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch

from regard.decoding.hypothesis import Hypothesis
from regard.errors import ConfigError
from regard.lens.capture import Capture
from regard.shapes import Float, Tensor

Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class AttentionRecord:
    """Where a model looked while it read one sentence and wrote another.

    Attributes:
        source: the source pieces, end token included.
        target: the pieces written, end token included.
        weights: for each kind the weights `L H T S`. "encoder": source to source. "cross":
            from the step that wrote each target piece to the source. "decoder": from that step
            to the pieces it had been fed, `inputs`.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: dict[Kind, Float[Tensor, "L H T S"]]

    @property
    def inputs(self) -> tuple[str, ...]:
        """What the decoder was fed: a start token, then all it wrote but the last."""
        return ("<s>", *self.target[:-1])

    def axes(self, kind: Kind) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The labels of the rows (queries) and columns (keys) of a kind."""
        if kind == "encoder":
            return self.source, self.source
        return (self.inputs, self.inputs) if kind == "decoder" else (self.target, self.source)

    def mean(self, kind: Kind = "cross") -> Float[Tensor, "T S"]:
        """The mean over layers and heads."""
        return self.weights[kind].mean((0, 1))

    def _repr_html_(self) -> str:
        """What a notebook shows: every layer and head, to be looked at."""
        # Both are made from records, and so import this module.
        from regard.lens.html import html_frame
        from regard.lens.wire import to_wire

        return html_frame(to_wire(self))

    def to_json(self) -> dict[str, Any]:
        """Plain lists and strings."""
        return {
            "source": list(self.source),
            "target": list(self.target),
            "weights": {kind: weights.tolist() for kind, weights in self.weights.items()},
        }


def kind_of(site: str) -> Kind:
    """The kind of a site, from its name in the module tree."""
    if site.startswith("encoder"):
        return "encoder"
    return "cross" if "cross" in site.rsplit(".", 1)[-1] else "decoder"


def record_of(
    seen: Capture,
    hypothesis: Hypothesis,
    sentence: int,
    source: Sequence[str],
    target: Sequence[str],
) -> AttentionRecord:
    """The attention of one hypothesis out of everything a search looked at.

    Args:
        seen: what was captured while one batch was decoded.
        hypothesis: the result; its `rows` say which row of each step was its own.
        sentence: its place in the batch.
        source: the source pieces, end token included.
        target: the target pieces, end token included.
    """
    layers: dict[Kind, list[Tensor]] = {}
    for site, calls in seen.calls.items():
        kind = kind_of(site)
        if kind == "encoder":
            (weights,) = calls
            one = weights[sentence][:, : len(source), : len(source)]  # H S S
        else:
            num_keys = len(source) if kind == "cross" else len(target)
            one = _follow(calls, hypothesis.rows, num_keys)  # H T S
        layers.setdefault(kind, []).append(one)
    return AttentionRecord(
        tuple(source),
        tuple(target),
        {kind: torch.stack(weights) for kind, weights in layers.items()},
    )


def mean_cross(
    seen: Sequence[Capture], hypothesis: Hypothesis, num_source: int
) -> Float[Tensor, "T S"]:
    """Where one hypothesis looked in the source, the mean over models, layers and heads.

    Args:
        seen: what was captured of each model while one batch was decoded.
        hypothesis: one result.
        num_source: pieces of its source, end token included.

    Raises:
        ConfigError: no model has cross-attention.
    """
    layers = [
        _follow(calls, hypothesis.rows, num_source).mean(0)
        for each in seen
        for site, calls in each.calls.items()
        if kind_of(site) == "cross"
    ]
    if not layers:
        raise ConfigError("the model has no cross-attention; coverage and PosUnk need some")
    return torch.stack(layers).mean(0)


def _follow(
    calls: Sequence[Float[Tensor, "_ H _ _"]], rows: Sequence[int], num_keys: int
) -> Float[Tensor, "H T S"]:
    """The weights along one hypothesis: from the call of each step, its row.

    Rows are counted over sentences and, inside one, over its hypotheses. Those are the batch
    axis of self-attention and the query axis of cross-attention, so flattening both axes
    together serves both.
    """
    heads = calls[0].shape[1]
    path = torch.zeros(heads, len(rows), num_keys)
    for step, (weights, row) in enumerate(zip(calls, rows, strict=False)):
        flat = weights.transpose(1, 2).flatten(0, 1)  # R H S
        one = flat[row][:, :num_keys]
        path[:, step, : one.shape[1]] = one
    return path
