"""The rivals of the benchmark train the same model: their losses agree."""

import json
import math
import subprocess
import sys
from collections import Counter
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import torch

import train_products
from regard.models.flops import forward_flops
from regard.models.transformer import TransformerConfig
from regard.native import kernels
from train_products import products, products_step
from train_systems import BATCH_TOKENS, PAD, SYSTEMS, make_batches

ROOT = Path(__file__).parents[2]
VOCABULARY = 60
SMALL = TransformerConfig(d_model=16, heads=2, d_ff=32, encoder_layers=1, decoder_layers=1)


def test_the_batches_are_full_and_hardly_padded() -> None:
    batches = make_batches(8000, 5)
    sizes = [batch.target_in.size for batch in batches]
    real = sum(int(batch.target_mask.sum()) for batch in batches)
    assert max(sizes) <= BATCH_TOKENS
    assert real > 0.85 * BATCH_TOKENS * len(batches)


def test_the_batches_are_the_same_in_every_process() -> None:
    one, other = make_batches(8000, 2), make_batches(8000, 2)
    assert all(np.array_equal(a.source, b.source) for a, b in zip(one, other, strict=True))


def test_padding_is_what_the_masks_say() -> None:
    (batch,) = make_batches(8000, 1)
    assert np.array_equal(batch.target_out != PAD, batch.target_mask)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.filterwarnings("ignore")
def test_every_system_begins_at_chance_and_learns(system: str) -> None:
    torch.manual_seed(1)
    (batch,) = make_batches(VOCABULARY, 1)
    step = SYSTEMS[system](SMALL, VOCABULARY)
    losses = [step(batch) for _ in range(30)]
    assert losses[0] == pytest.approx(math.log(VOCABULARY), rel=0.25)
    assert losses[-1] < losses[0]


def test_the_products_are_those_of_the_formula_but_for_attention_itself() -> None:
    (batch,) = make_batches(VOCABULARY, 1)
    batch.source_mask[:], batch.target_mask[:] = True, True
    size, source, target = len(batch.indices), batch.source.shape[1], batch.target_in.shape[1]
    looks = source * source + target * (target + 1) // 2 + target * source
    counted = sum(rows * n * m for rows, n, m in products(SMALL, VOCABULARY, batch))
    whole = forward_flops(SMALL, VOCABULARY, [(source, target)] * size)
    assert 2 * (counted + size * looks * 2 * SMALL.d_model) == whole


def test_the_products_of_a_step_are_taken_forwards_and_twice_backwards() -> None:
    (batch,) = make_batches(VOCABULARY, 1)
    counted = sum(rows * n * m for rows, n, m in products(SMALL, VOCABULARY, batch))
    with (
        patch.object(train_products, "can_multiply", lambda *_, **__: False),
        patch.object(torch, "mm", wraps=torch.mm) as multiply,
    ):
        products_step(SMALL, VOCABULARY)(batch)
    taken = sum(a.numel() * b.shape[1] for a, b in (call.args for call in multiply.call_args_list))
    # A part of the batch may have less padding than the whole.
    assert 0.8 * 3 * counted < taken <= 3 * counted


@pytest.mark.skipif(not kernels.has_float_products(), reason="the processor has no AVX-512")
def test_they_are_taken_by_our_kernels_where_the_trainers_are() -> None:
    (batch,) = make_batches(VOCABULARY, 1)
    with patch.object(kernels, "call", wraps=kernels.call) as call:
        products_step(SMALL, VOCABULARY)(batch)
    names = Counter(each.args[0] for each in call.mock_calls)
    assert 0 < names["multiply_floats"] == 2 * names["sum_outer_products"]


@pytest.mark.slow
def test_the_benchmark_prints_what_programs_read() -> None:
    command = [sys.executable, "bench/train_speed.py", "--config", "tiny", "--rounds", "1"]
    printed = subprocess.run(
        [*command, "--json"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    report = json.loads(printed.stdout)
    assert {row["system"] for row in report["rows"]} == {*SYSTEMS, "products"}
    assert report["ratios"]["train.tiny.products"] < 1
    assert report["ratios"]["train.tiny.transformers"] > 1
    assert report["ratios"]["memory.tiny.transformers"] < 1
    assert 0 < report["gemm_share"]["tiny"] < 1
