"""The compiled kernels, called with tensors."""

import ctypes
from ctypes import byref, c_float, c_int64, c_uint64, c_void_p
from functools import cache
from importlib.util import find_spec
from typing import Any

import torch

from regard.errors import RegardError
from regard.plain import is_plain
from regard.shapes import Bool, Float, Int, Int8, Tensor

_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "log_softmax": (c_void_p, *[c_int64] * 2),
    "softmax": (c_void_p, *[c_int64] * 2, c_void_p),
    "add_to_rows": (*[c_void_p] * 2, *[c_int64] * 2, c_float, c_void_p),
    "add_dropped": (*[c_void_p] * 2, c_int64, c_uint64, c_int64, c_void_p),
    "best_continuations": (*[c_void_p] * 2, *[c_int64] * 4, *[c_void_p] * 2),
    "multiply_rows": (c_void_p, c_int64, *[c_void_p] * 2, *[c_int64] * 3, c_void_p),
    "multiply_own_rows": (c_void_p, *[c_int64] * 2, *[c_void_p] * 5, *[c_int64] * 2, c_void_p),
    "quantise_rows": (c_void_p, *[c_int64] * 2, *[c_float] * 2, *[c_void_p] * 2),
    "dequantise": (*[c_void_p] * 2, *[c_int64] * 2, *[c_void_p] * 3),
    "attend_rows": (
        *(c_void_p, c_int64, *[c_void_p] * 2, c_int64, *[c_void_p] * 3),
        *(*[c_int64] * 5, *[c_void_p] * 2),
    ),
    "attend_few": (
        *(c_void_p, c_int64, *[c_void_p] * 2, c_int64, c_void_p),
        *(*[c_int64] * 6, *[c_void_p] * 2),
    ),
    "attend_sentences": (*[c_void_p] * 2, *[c_int64] * 3, c_void_p),
    "attend_few_backward": (
        *(c_void_p, c_int64, *[c_void_p] * 2, c_int64),
        *(*[c_int64] * 6, *[c_void_p] * 5),
    ),
    "step_rows": (c_void_p, *[c_int64] * 4, *[c_void_p] * 3),
    "can_multiply_floats": (c_void_p,),
    "can_multiply_pairs": (c_void_p,),
    "can_multiply_integers": (c_void_p,),
}
# Products with packed matrices, which not every library has.
_PACKED_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "pack_floats": (c_void_p, *[c_int64] * 2, c_void_p),
    "pack_turned_floats": (c_void_p, *[c_int64] * 2, c_void_p),
    "pack_pairs": (c_void_p, *[c_int64] * 2, *[c_void_p] * 2),
    "pack_turned_pairs": (c_void_p, *[c_int64] * 2, c_void_p),
    "multiply_pairs": (c_void_p, *[c_int64] * 2, *[c_void_p] * 2, c_int64, *[c_void_p] * 2),
    "sum_outer_products": (*[c_void_p] * 2, *[c_int64] * 6, *[c_void_p] * 3),
    "multiply_floats": (c_void_p, c_int64, *[c_void_p] * 2, c_int64, c_void_p),
    "pack_integers": (*[c_void_p] * 2, *[c_int64] * 2, c_void_p),
    "multiply_integers": (c_void_p, c_int64, c_void_p, c_int64, *[c_void_p] * 2),
    "multiply_own_integers": (c_void_p, *[c_int64] * 2, *[c_void_p] * 5),
}
# A kernel fills registers of so many floats.
SIXTEEN = 16
# What `attend_few` has room for, and `attend_sentences`.
MOST_KEYS = 64
MOST_POSITIONS = 256
MOST_WIDTH = 128


@cache
def _library() -> dict[str, Any] | None:
    """The compiled kernels by name, or None where there are none."""
    spec = find_spec("regard.native._kernels")
    if spec is None or spec.origin is None:
        return None
    try:
        library = ctypes.CDLL(spec.origin)
    except OSError:  # made on another machine, or without what it needs
        return None
    kernels = {}
    for name, signature in (_SIGNATURES | _PACKED_SIGNATURES).items():
        kernel = getattr(library, name, None)
        if kernel is not None:
            kernel.argtypes, kernel.restype = signature, None
            kernels[name] = kernel
        elif name in _SIGNATURES:
            raise RegardError(f"{spec.origin} is of an older version; install the package again")
    return kernels


def has_kernels() -> bool:
    """Whether there are compiled kernels, and the plain formulas are not asked for."""
    return _library() is not None and not is_plain()


def has_float_products() -> bool:
    """Whether products with packed floats are among them, and the processor is made for these."""
    return has_kernels() and _answer("can_multiply_floats")


def has_pair_products() -> bool:
    """The same for pairs of bfloat16 numbers."""
    return has_kernels() and _answer("can_multiply_pairs")


def has_integer_products() -> bool:
    """The same for integers."""
    return has_kernels() and _answer("can_multiply_integers")


@cache
def _answer(question: str) -> bool:
    answer = c_int64()
    call(question, byref(answer))
    return bool(answer.value)


def can_take(*tensors: Tensor) -> bool:
    """Whether kernels can be handed these: floats in the processor's memory, without gradients."""
    return has_kernels() and all(
        x.dtype == torch.float32 and x.is_cpu and not x.requires_grad for x in tensors
    )


def log_softmax_(x: Float[Tensor, "R V"]) -> Float[Tensor, "R V"]:
    """Turn every row into log softmax of itself."""
    assert x.is_contiguous()
    call("log_softmax", x, *x.shape)
    return x


def softmax_(x: Float[Tensor, "R V"]) -> Float[Tensor, "R 1"]:
    """Turn every row into softmax of itself; return log Σ exp of what it was."""
    assert x.is_contiguous()
    log_sums = x.new_empty(len(x), 1)
    call("softmax", x, *x.shape, log_sums)
    return log_sums


def add_to_rows(
    total: Float[Tensor, "V D"], rows: Int[Tensor, "N"], x: Float[Tensor, "N D"], scale: float
) -> None:
    """Add `scale` times every row of x to the row of `total` that is named for it."""
    assert x.is_contiguous() and rows.is_contiguous() and total.is_contiguous()
    assert x.shape == (len(rows), total.shape[1])
    call("add_to_rows", x, rows, *x.shape, scale, total)


def add_dropped(
    x: Float[Tensor, "*B"] | None, y: Float[Tensor, "*B"], seed: int, num_dropped: int
) -> Float[Tensor, "*B"]:
    """The sum of x, where it is given, and what a mask drawn from a seed leaves of y.

    Args:
        x: added as it is.
        y: of which every number is dropped, or scaled up for those that are.
        seed: of the mask; the same seed gives the same mask.
        num_dropped: how many of 256 are dropped.
    """
    assert y.is_contiguous() and (x is None or (x.is_contiguous() and x.shape == y.shape))
    output = torch.empty_like(y)
    call("add_dropped", x, y, y.numel(), seed, num_dropped, output)
    return output


def best_continuations(
    scores: Float[Tensor, "B N"], log_probs: Float[Tensor, "B N V"], count: int
) -> tuple[Float[Tensor, "B k"], Int[Tensor, "B k"]]:
    """The `count` largest of scores[b, n] + log_probs[b, n, v] of each sentence, and n · V + v."""
    assert scores.shape == log_probs.shape[:2]
    scores, log_probs = scores.contiguous(), log_probs.contiguous()
    totals = scores.new_empty(len(scores), count)
    places = torch.empty(totals.shape, dtype=torch.int64)
    call("best_continuations", scores, log_probs, *log_probs.shape, count, totals, places)
    return totals, places


def multiply_rows(
    x: Float[Tensor, "R D"], weight: Float[Tensor, "F D"], bias: Float[Tensor, "F"] | None
) -> Float[Tensor, "R F"]:
    """The product x Wᵀ + b, for few rows."""
    x = x.contiguous()
    assert x.shape[1] == weight.shape[1] and x.dtype == weight.dtype == torch.float32
    assert weight.is_contiguous() and (bias is None or bias.is_contiguous())
    product = x.new_empty(len(x), len(weight))
    threads = torch.get_num_threads()
    call("multiply_rows", x, len(x), weight, bias, *weight.shape, threads, product)
    return product


def multiply_own_rows(
    x: Float[Tensor, "R D"],
    weight: Float[Tensor, "F D"],
    bias: Float[Tensor, "F"] | None,
    own: Int[Tensor, "A f"],
    places: Int[Tensor, "B"],
    counts: Int[Tensor, "A"],
) -> Float[Tensor, "R f"]:
    """The product x Wᵀ + b for the outputs that the sentence of each row has to itself.

    Args:
        x: the rows of one sentence stand together.
        weight: of all outputs.
        bias: likewise.
        own: the outputs of each list.
        places: whose list each sentence uses.
        counts: how many outputs of a list count; the others are −∞.
    """
    x = x.contiguous()
    assert x.dtype == weight.dtype == torch.float32
    assert weight.is_contiguous() and x.shape[1] == weight.shape[1]
    assert own.dtype == places.dtype == counts.dtype == torch.int64
    assert own.is_contiguous() and counts.shape == own.shape[:1]
    product = x.new_empty(len(x), own.shape[1])
    lanes = len(x) // len(places)
    matrix = weight, bias, own, places.contiguous(), counts
    call("multiply_own_rows", x, len(places), lanes, *matrix, own.shape[1], x.shape[1], product)
    return product


def quantise_rows(
    x: Float[Tensor, "R D"], largest: int, smallest: float
) -> tuple[Int8[Tensor, "R D"], Float[Tensor, "R 1"]]:
    """Each row as integers up to `largest`, and its scale, `smallest` at least."""
    x = x.contiguous()
    values, scale = torch.empty(x.shape, dtype=torch.int8), x.new_empty(len(x), 1)
    call("quantise_rows", x, *x.shape, largest, smallest, values, scale)
    return values, scale


def dequantise(
    sums: Int[Tensor, "R F"],
    row_scale: Float[Tensor, "R 1"],
    scale: Float[Tensor, "F"],
    bias: Float[Tensor, "F"] | None,
) -> Float[Tensor, "R F"]:
    """Sums of integers, times both scales, plus the bias; in the memory of the sums."""
    assert sums.dtype == torch.int32 and sums.is_contiguous()
    assert (row_scale.numel(), scale.numel()) == sums.shape
    assert row_scale.dtype == scale.dtype == torch.float32
    numbers = sums.view(torch.float32)
    bias = None if bias is None else bias.contiguous()
    call("dequantise", sums, numbers, *sums.shape, row_scale, scale.contiguous(), bias)
    return numbers


def attend_rows(
    query: Float[Tensor, "R D"],
    keys: Float[Tensor, "A H S K"],
    values: Float[Tensor, "A H S K"],
    places: Int[Tensor, "R t"] | None,
    lengths: Int[Tensor, "B"] | None,
    blocks: Int[Tensor, "B"] | None,
) -> Float[Tensor, "R D"]:
    """Each row attends, head by head, to the keys of its sentence that it sees.

    Args:
        query: may be some columns of a wider matrix.
        keys: may have room behind the last.
        values: likewise.
        places: which each row sees; None: the first of them.
        lengths: how many the rows of each sentence see; None: all.
        blocks: whose keys and values are each sentence's; None: they are in order.
    """
    _, heads, num_keys, width = keys.shape
    sentences = len(keys) if blocks is None else len(blocks)
    room = keys.stride(1) // width
    assert query.shape[1] == heads * width and query.stride(1) == 1
    assert keys.shape == values.shape
    for stored in (keys, values):
        assert stored.stride() == (heads * room * width, room * width, width, 1)
    if places is not None:
        assert places.dtype == torch.int32 and places.is_contiguous()
        assert len(places) == len(query)
    for numbers in (lengths, blocks):
        assert numbers is None or (
            numbers.dtype == torch.int64
            and numbers.shape == (sentences,)
            and numbers.is_contiguous()
        )
    count = num_keys if places is None else places.shape[1]
    output = query.new_empty(query.shape)
    weights = query.new_empty(count + SIXTEEN)
    call(
        "attend_rows",
        *(query, query.stride(0), keys, values, room, blocks, places, lengths, count),
        *(sentences, query.shape[0] // sentences, heads, width, weights, output),
    )
    return output


def attend_few(
    query: Float[Tensor, "B T D"],
    keys: Float[Tensor, "B S D"],
    values: Float[Tensor, "B S D"],
    heads: int,
    mask: Bool[Tensor, "B S"] | None,
    *,
    is_causal: bool,
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B H T P"]]:
    """Every position attends, head by head, to the keys of its sentence.

    Args:
        query: heads side by side; may be some columns of a wider matrix, as may the others.
        keys: at most `MOST_KEYS`, in heads of whole registers up to `MOST_WIDTH`.
        values: one for each key.
        heads: how many there are.
        mask: True where a key of a sentence is seen; None: all are.
        is_causal: each position sees the keys up to its own; there is one for each.

    Returns:
        The output, and the weights for the way back, their keys filled up to whole registers.
    """
    batch, num_queries, d_model = query.shape
    num_keys, width = keys.shape[1], d_model // heads
    assert not is_causal or num_queries == num_keys
    assert num_keys <= MOST_KEYS and width <= MOST_WIDTH and width % SIXTEEN == 0
    if mask is not None:
        assert mask.dtype == torch.bool and mask.shape == keys.shape[:2] and mask.is_contiguous()
    output = query.new_empty(query.shape)
    weights = query.new_empty(batch, heads, num_queries, -(-num_keys // SIXTEEN) * SIXTEEN)
    call(
        "attend_few",
        *(query, _rows_apart(query), keys, values, _rows_apart(keys, values), mask, is_causal),
        *(batch, heads, num_queries, num_keys, width, weights, output),
    )
    return output, weights


def attend_sentences(
    packed: Float[Tensor, "R D3"], begins: Int[Tensor, "B1"], longest: int, heads: int
) -> Float[Tensor, "R D"]:
    """Every position attends, head by head, to those of its sentence.

    Args:
        packed: queries, keys and values side by side, in heads as `attend_few` takes them; the
            sentences behind one another.
        begins: where each begins, and where the last one ends.
        longest: how many positions a sentence has at most, `MOST_POSITIONS` or fewer.
        heads: how many there are.
    """
    num_rows, d_model = packed.shape[0], packed.shape[1] // 3
    width = d_model // heads
    assert longest <= MOST_POSITIONS and width <= MOST_WIDTH and width % SIXTEEN == 0
    assert packed.is_contiguous() and begins.dtype == torch.int64 and begins.is_contiguous()
    output = packed.new_empty(num_rows, d_model)
    call("attend_sentences", packed, begins, len(begins) - 1, heads, width, output)
    return output


def attend_few_backward(
    query: Float[Tensor, "B T D"],
    keys: Float[Tensor, "B S D"],
    values: Float[Tensor, "B S D"],
    weights: Float[Tensor, "B H T P"],
    output: Float[Tensor, "B T D"],
    gradients: tuple[Tensor, Tensor, Tensor],
    *,
    is_causal: bool,
) -> None:
    """Fill in the gradients of query, keys and values, from that of the output.

    Args:
        query: as it was given to `attend_few`, like keys and values.
        keys: likewise.
        values: likewise.
        weights: as they were returned.
        output: its gradient.
        gradients: of query, keys and values, which lie as these do.
        is_causal: as it was.
    """
    heads, width = weights.shape[1], query.shape[2] // weights.shape[1]
    assert output.shape == query.shape and output.is_contiguous()
    for given, gradient in zip((query, keys, values), gradients, strict=True):
        assert (gradient.shape, gradient.stride()) == (given.shape, given.stride())
    call(
        "attend_few_backward",
        *(query, _rows_apart(query), keys, values, _rows_apart(keys, values), is_causal),
        *(len(query), heads, query.shape[1], keys.shape[1], width, weights, output, *gradients),
    )


def _rows_apart(*matrices: Float[Tensor, "B T D"]) -> int:
    """How many numbers lie from one row to the next, in all of these."""
    (stride,) = {x.stride(1) for x in matrices}
    assert all(x.stride() == (x.shape[1] * stride, stride, 1) for x in matrices)
    return stride


def rounded(width: int) -> int:
    """The width of what is filled up to whole registers."""
    return -(-width // SIXTEEN) * SIXTEEN


def call(name: str, *arguments: Any) -> None:
    """Call a kernel; tensors are handed over as the address of their first number."""
    library = _library()
    assert library is not None, "asked without a look at has_kernels"
    library[name](*[x.data_ptr() if isinstance(x, torch.Tensor) else x for x in arguments])
