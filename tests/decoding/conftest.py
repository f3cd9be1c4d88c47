"""Searches draw no gradients."""

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def no_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield
