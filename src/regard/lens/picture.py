"""What to draw of an attention record: one matrix and the names of its rows and columns."""

from dataclasses import dataclass

from regard.errors import ConfigError
from regard.lens.record import AttentionRecord, Kind
from regard.lens.words import merge_to_words, words
from regard.shapes import Float, Tensor
from regard.text.encoded import Encoded


@dataclass(frozen=True, slots=True)
class Picture:
    """One matrix of attention, ready to be drawn.

    Attributes:
        weights: how much each row looked at each column.
        rows: what looked: words or pieces.
        columns: what was looked at.
        title: which attention this is.
    """

    weights: Float[Tensor, "T S"]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    title: str


def picture_of(
    record: AttentionRecord,
    source: Encoded,
    target: Encoded,
    *,
    kind: Kind = "cross",
    layer: int | None = None,
    head: int | None = None,
    by_words: bool = True,
) -> Picture:
    """One layer and head of a kind, or the mean over those not named.

    Args:
        record: everything the model looked at.
        source: the sentence it read.
        target: the sentence it wrote.
        kind: which attention.
        layer: counted from 1; the mean over layers unless given.
        head: counted from 1; the mean over heads unless given.
        by_words: between words, leaving out start and end tokens; else between pieces.

    Raises:
        ConfigError: the model has no such kind, layer or head.
    """
    weights = weights_of(record, kind)
    num_layers, num_heads = weights.shape[:2]
    weights = weights[_index("layer", layer, num_layers)][:, _index("head", head, num_heads)]
    matrix = weights.mean((0, 1))  # T S
    rows, columns = record.axes(kind)
    if by_words:
        matrix, rows, columns = _between_words(matrix, kind, source, target)
    return Picture(matrix, rows, columns, _title(kind, layer, head))


def weights_of(record: AttentionRecord, kind: Kind) -> Float[Tensor, "L H T S"]:
    """The weights of a kind.

    Raises:
        ConfigError: the model has no attention of that kind, or none at all.
    """
    if not record.weights:
        raise ConfigError("this model has no attention; there is nothing to look at")
    if kind not in record.weights:
        raise ConfigError(
            f"this model has no {kind} attention; it has {' and '.join(record.weights)}"
        )
    return record.weights[kind]


def _between_words(
    weights: Float[Tensor, "T S"], kind: Kind, source: Encoded, target: Encoded
) -> tuple[Float[Tensor, "t s"], tuple[str, ...], tuple[str, ...]]:
    if kind == "decoder":
        # Its rows and columns are what it was fed: one start token, then the target.
        weights = weights[1:, 1:]
    asking = source if kind == "encoder" else target
    asked = target if kind == "decoder" else source
    return merge_to_words(weights, asking, asked), tuple(words(asking)), tuple(words(asked))


def _index(name: str, number: int | None, count: int) -> slice:
    if number is None:
        return slice(None)
    if not 1 <= number <= count:
        raise ConfigError(f"{name} {number:,} does not exist; expected 1 to {count:,}")
    return slice(number - 1, number)


def _title(kind: Kind, layer: int | None, head: int | None) -> str:
    name = {"encoder": "Encoder self", "decoder": "Decoder self", "cross": "Cross"}[kind]
    which = [
        f"mean over {part}s" if number is None else f"{part} {number}"
        for part, number in (("layer", layer), ("head", head))
    ]
    if layer is None and head is None:
        which = ["mean over layers and heads"]
    return f"{name}-attention, {', '.join(which)}"
