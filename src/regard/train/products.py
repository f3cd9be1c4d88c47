"""Matrix products in the precision of their factors, kept in that of what receives them.

For factors in fp32 these are single calls, in place. In bfloat16, which some processors multiply
twice as fast, the product of two chunks is rounded to bfloat16 once and then counted in fp32.
"""

import torch

from regard.shapes import Float, Tensor


def multiply_into(
    out: Float[Tensor, "N M"], left: Float[Tensor, "N K"], right: Float[Tensor, "K M"]
) -> Float[Tensor, "N M"]:
    """Fill `out` with left · right."""
    if left.dtype == out.dtype:
        return torch.mm(left, right, out=out)
    return out.copy_(left @ right)


def add_product(
    total: Float[Tensor, "N M"], left: Float[Tensor, "N K"], right: Float[Tensor, "K M"]
) -> None:
    """Add left · right to `total`."""
    if left.dtype == total.dtype:
        total.addmm_(left, right)
    else:
        total += left @ right
