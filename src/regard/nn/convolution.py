"""Convolutions over time: the same linear map of every window of a sequence."""

import torch
import torch.nn.functional as F

from regard.shapes import Float, Int, Tensor


def windows(
    x: Float[Tensor, "B T D"], kernel: int, dilation: int = 1, *, is_causal: bool
) -> Float[Tensor, "B T kD"]:
    """The inputs under the kernel at every place, side by side.

        centred:  [x_{t − r(k−1)/2}; …; x_t; …; x_{t + r(k−1)/2}]
        causal:   [x_{t − r(k−1)}; …; x_{t − r}; x_t]

    k inputs that stand r apart, zeros beyond both ends; a linear map of them is a convolution
    that keeps the length of the sequence. On a CPU that product is as fast as `conv1d`.

    Args:
        x: the sequence.
        kernel: k; odd if centred.
        dilation: r.
        is_causal: whether a window ends at its place, and not around it.
    """
    assert is_causal or kernel % 2, f"a centred kernel is odd, not {kernel}"
    length, reach = x.shape[1], (kernel - 1) * dilation
    padded = F.pad(x, (0, 0, reach, 0) if is_causal else (0, 0, reach // 2, reach // 2))
    return torch.cat([padded[:, i : i + length] for i in range(0, reach + 1, dilation)], -1)


class Past:
    """The inputs that a causal convolution will look back at, in a ring allocated once.

    Row r holds those of hypothesis r; `reorder` lets hypotheses be copied, moved and dropped
    between steps. Before the first step there are zeros.

    Args:
        like: any tensor of the type and on the device of the inputs.
        num_rows: how many hypotheses there are.
        d_in: width of an input.
        kernel: how many inputs one output sees.
        dilation: how far apart they stand.
    """

    def __init__(
        self, like: Tensor, num_rows: int, d_in: int, kernel: int, dilation: int = 1
    ) -> None:
        reach = (kernel - 1) * dilation
        self._distances = range(reach, 0, -dilation)
        self._ring = like.new_zeros(num_rows, max(reach, 1), d_in)
        self._length = 0

    @property
    def num_rows(self) -> int:
        """How many hypotheses there are."""
        return len(self._ring)

    def window(self, x: Float[Tensor, "R D"]) -> Float[Tensor, "R kD"]:
        """The inputs under the kernel, the present one last; it is kept for later steps."""
        size = self._ring.shape[1]
        before = [self._ring[:, (self._length - back) % size] for back in self._distances]
        window = torch.cat([*before, x], -1)
        # The farthest back was in this place, and is needed no more.
        self._ring[:, self._length % size] = x
        self._length += 1
        return window

    def reorder(self, rows: Int[Tensor, "R"]) -> None:
        """Row i becomes what row `rows[i]` was; the number of rows may change."""
        self._ring = self._ring[rows]
