"""An attention record as it travels to a page: small, and exact enough to be looked at.

    {"model": name,
     "axes":  {"source": axis, "target": axis, "inputs": axis},
     "kinds": {"cross": {"rows": "target", "columns": "source", "shape": [L, H, T, S],
                         "weights": packed, "rollout": packed}, …}}

An axis has `pieces`, the places of those that are `special`, and, where the text is known, its
`words`, the `gaps` of text before each and the word `word_of` each piece (−1: none). `packed` is
what `pack` writes and `weights.js` reads. The full floats are in `AttentionRecord.to_json`.
"""

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.lens.labels import visible
from regard.lens.record import AttentionRecord, Kind
from regard.lens.rollout import rollout
from regard.shapes import Float, Tensor
from regard.text.encoded import Encoded
from regard.text.spans import piece_words, word_spans

AXES: dict[Kind, tuple[str, str]] = {
    "encoder": ("source", "source"),
    "decoder": ("inputs", "inputs"),
    "cross": ("target", "source"),
}


def to_wire(
    record: AttentionRecord,
    source: Encoded | None = None,
    target: Encoded | None = None,
    *,
    model: str = "",
) -> dict[str, Any]:
    """The record as plain lists and strings.

    Args:
        record: where the model looked.
        source: the text it read, to be shown in words.
        target: the text it wrote, likewise.
        model: a name to show.
    """
    mixed = rollout(record)
    return {
        "model": visible(model),
        "axes": {
            "source": _axis(record.source, len(record.source) - 1, source),
            "target": _axis(record.target, len(record.target) - 1, target),
            "inputs": _axis(record.inputs, 0, target),
        },
        "kinds": {
            kind: {
                "rows": AXES[kind][0],
                "columns": AXES[kind][1],
                "shape": list(weights.shape),
                "weights": pack(weights),
                **({"rollout": pack(mixed[kind])} if kind in mixed else {}),
            }
            for kind, weights in record.weights.items()
        },
    }


def words_to_wire(
    weights: Float[Tensor, "T S"], source: Sequence[str], target: Sequence[str], *, model: str = ""
) -> dict[str, Any]:
    """An alignment of words as a record of one head that looks from words at words.

    Args:
        weights: how much each target word took from each source word.
        source: the words of the sentence.
        target: those of its translation.
        model: a name to show.
    """
    rows, columns = AXES["cross"]
    return {
        "model": visible(model),
        "axes": {"source": _axis_of_words(source), "target": _axis_of_words(target)},
        "kinds": {
            "cross": {
                "rows": rows,
                "columns": columns,
                "shape": [1, 1, *weights.shape],
                "weights": pack(weights),
            }
        },
    }


def pack(weights: Float[Tensor, "*B T S"]) -> str:
    """Weights as 8-bit integers, deflated (RFC 1950) and in base64.

    A row w becomes its largest weight m, a little-endian float32, and round(255 w / m), a byte
    each; all m stand before all bytes. So a weight is off by at most m/510.
    """
    rows = weights.flatten(0, -2).numpy().astype(np.float32)
    largest = rows.max(1, initial=0.0)
    scaled = 255 * rows / np.where(largest > 0, largest, 1)[:, None]
    content = largest.astype("<f4").tobytes() + scaled.round().astype(np.uint8).tobytes()
    return base64.b64encode(zlib.compress(content, 9)).decode()


def _axis_of_words(words: Sequence[str]) -> dict[str, Any]:
    """Every word a piece of its own, none of them special."""
    labels = [visible(word) for word in words]
    return {
        "pieces": labels,
        "special": [],
        "words": labels,
        "gaps": ["", *" " * (len(labels) - 1)][: len(labels)],
        "word_of": list(range(len(labels))),
    }


def _axis(pieces: tuple[str, ...], special: int, text: Encoded | None) -> dict[str, Any]:
    """What stands along one side of a map; `special` is the place of its start or end token."""
    axis: dict[str, Any] = {"pieces": [visible(piece) for piece in pieces], "special": [special]}
    if text is None:
        return axis
    spans = word_spans(text.text)
    ends = [0, *(end for _, end in spans)]
    belongs = piece_words(text)[: len(pieces) - 1]
    return axis | {
        "words": [visible(text.text[start:end]) for start, end in spans],
        "gaps": [
            visible(text.text[end:start]) for end, (start, _) in zip(ends[:-1], spans, strict=True)
        ],
        "word_of": [*belongs[:special], -1, *belongs[special:]],
    }
