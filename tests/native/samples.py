"""What the tests of kernels draw their cases from, and what they need."""

from collections.abc import Callable
from typing import TypeVar
from unittest.mock import patch

import pytest
import torch
from hypothesis import strategies as st

from regard.native import kernels
from regard.shapes import Tensor

needs_kernels = pytest.mark.skipif(
    not kernels.has_kernels(), reason="no compiler was there when the package was installed"
)
needs_floats = pytest.mark.skipif(
    not kernels.has_float_products(), reason="the processor has no AVX-512"
)
needs_pairs = pytest.mark.skipif(
    not kernels.has_pair_products(), reason="the processor has no AVX512-BF16"
)
needs_integers = pytest.mark.skipif(
    not kernels.has_integer_products(), reason="the processor has no instructions for integers"
)
Result = TypeVar("Result")
sizes = st.integers(1, 150)
seeds = st.integers(0, 9999)


def both(function: Callable[[], Result]) -> tuple[Result, Result]:
    """What a function returns with the kernels, and without."""
    compiled = function()
    with patch.object(kernels, "_library", lambda: None):
        assert not kernels.has_kernels()
        return compiled, function()


def numbers(*shape: int, seed: int) -> Tensor:
    """Normally distributed, the same for the same seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
