"""bfloat16 where the machine has it, refused where it would only be slower."""

from pathlib import Path

import pytest
import torch

from regard import machine
from regard.attention.attend import Attend
from regard.build import build_trainer, create_run
from regard.errors import ConfigError
from regard.train.loss import fused_projection_loss
from regard.train.r_drop import fused_r_drop_loss
from tests.little_corpus import little_run, write_corpus


@pytest.mark.parametrize("has_it", [True, False])
def test_bf16_is_refused_where_it_is_slower(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_it: bool
) -> None:
    monkeypatch.setattr("regard.build.has_fast_bf16", lambda device: has_it)
    config = little_run(write_corpus(tmp_path), steps=1, precision="bf16")
    run = create_run(tmp_path / "run", config)
    if has_it:
        assert build_trainer(run).config.precision == "bf16"
    else:
        with pytest.raises(ConfigError, match='"bf16" is slower than "fp32" on this cpu'):
            build_trainer(run)


def test_a_step_in_bf16_is_nearly_that_in_fp32(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.build.has_fast_bf16", lambda device: True)
    corpus = write_corpus(tmp_path)
    losses = []
    for precision in ("fp32", "bf16"):
        config = little_run(corpus, steps=1, precision=precision)
        trainer = build_trainer(create_run(tmp_path / precision, config))
        report = trainer.step([next(trainer.batches.epoch(0))])
        assert all(p.dtype == torch.float32 for p in trainer.model.parameters())
        losses.append(report.loss)
    assert losses[0] != losses[1]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)


AMD = (0, 0x68747541, 0x444D4163, 0x69746E65)
INTEL = (0, 0x756E6547, 0x6C65746E, 0x49656E69)


def pretend(
    monkeypatch: pytest.MonkeyPatch, vendor: tuple[int, ...], *, has_amx: bool, has_avx: bool
) -> None:
    answers = {(0, 0): vendor, (7, 0): (0, 0, 0, has_amx << 22), (7, 1): (has_avx << 5, 0, 0, 0)}
    monkeypatch.setattr(machine, "cpuid", lambda leaf, subleaf=0: answers[leaf, subleaf])


@pytest.mark.parametrize(
    ("has_amx", "palettes", "expected"),
    [(True, 1, True), (True, 0, False), (True, None, False), (False, 1, False)],
)
def test_a_cpu_has_bf16_if_its_tiles_are_real(
    monkeypatch: pytest.MonkeyPatch, has_amx: bool, palettes: int | None, expected: bool
) -> None:
    pretend(monkeypatch, INTEL, has_amx=has_amx, has_avx=True)
    monkeypatch.setattr(machine, "num_tile_palettes", lambda: palettes)
    assert machine.has_fast_bf16("cpu") is expected


@pytest.mark.parametrize("has_avx", [True, False])
def test_an_amd_processor_needs_avx512_bf16(monkeypatch: pytest.MonkeyPatch, has_avx: bool) -> None:
    pretend(monkeypatch, AMD, has_amx=False, has_avx=has_avx)
    assert machine.has_fast_bf16("cpu") is has_avx


def test_an_unknown_processor_is_not_trusted_with_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cpuid", lambda leaf, subleaf=0: None)
    assert not machine.has_fast_bf16("cpu")


@pytest.mark.parametrize("alpha", [0.0, 5.0])
def test_the_fused_losses_in_bf16_are_nearly_those_in_fp32(alpha: float) -> None:
    torch.manual_seed(0)
    weight = torch.nn.Linear(32, 50).requires_grad_()
    hidden = torch.randn(2, 300, 32)
    targets = torch.randint(50, (300,))
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        states = hidden.to(dtype).requires_grad_()
        if alpha:
            loss = fused_r_drop_loss(states, weight.weight, weight.bias, targets, 0.1, alpha)
        else:
            loss = fused_projection_loss(states[0], weight.weight, weight.bias, targets, 0.1)
        wanted = (states, weight.weight, weight.bias)
        found.append([loss.smoothed, *torch.autograd.grad(loss.smoothed, wanted)])
    assert found[1][0].dtype == found[1][2].dtype == torch.float32
    for exact, low in zip(*found, strict=True):
        assert (low - exact).norm() < 0.01 * exact.norm()


def test_attention_in_bf16_is_nearly_that_in_fp32() -> None:
    torch.manual_seed(0)
    query, keys, values = torch.randn(3, 2, 4, 9, 16)
    attend = Attend()
    with torch.autocast("cpu", torch.bfloat16):
        low = attend(query.bfloat16(), keys.bfloat16(), values.bfloat16())
    torch.testing.assert_close(low, attend(query, keys, values), atol=0.02, rtol=0.02)
