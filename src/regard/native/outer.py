"""Sums of outer products, the gradient of a matrix (`outer.c`)."""

import torch

from regard.native import kernels
from regard.shapes import Float, Tensor

# As in outer.c: how many rows are summed before the sums are put down, and columns packed at once.
DEPTH = 256
COLUMNS = 128


def sum_outer_products(
    left: Float[Tensor, "N F"],
    right: Float[Tensor, "N D"],
    total: Float[Tensor, "F D"] | None = None,
    left_sum: Float[Tensor, "F"] | None = None,
    *,
    is_low: bool = False,
) -> Float[Tensor, "F D"]:
    """Equals leftᵀ right, the sum of all rows' outer products.

    Args:
        left: one factor a row.
        right: the other.
        total: what to add the sum to, in its place.
        left_sum: what to add the sum of `left` alone to, in its place, on the way.
        is_low: multiply in bfloat16; sums are floats all the same.
    """
    left, right = left.contiguous(), right.contiguous()
    (count, num_rows), num_columns = left.shape, right.shape[1]
    assert len(right) == count and left.dtype == right.dtype == torch.float32
    adds = total is not None or count == 0
    if total is None:
        total = (left.new_zeros if adds else left.new_empty)(num_rows, num_columns)
    assert total.dtype == torch.float32 and total.is_contiguous()
    assert total.shape == (num_rows, num_columns)
    assert left_sum is None or left_sum.shape == (num_rows,)
    threads = torch.get_num_threads()
    space = left.new_empty(DEPTH * (kernels.rounded(num_columns) + threads * COLUMNS))
    kernels.call(
        "sum_outer_products",
        *(left, right, count, num_rows, num_columns, adds, is_low, threads, space, left_sum, total),
    )
    return total
