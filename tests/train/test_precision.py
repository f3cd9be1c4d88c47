"""bfloat16 where the machine has it, refused where it would only be slower."""

from pathlib import Path

import pytest
import torch

from regard import machine
from regard.build import build_trainer, create_run
from regard.errors import ConfigError
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
        dtypes: list[torch.dtype] = []
        layer = trainer.model.get_submodule("encoder.layers.0.feed_forward.inner")
        layer.register_forward_hook(lambda *call, seen=dtypes: seen.append(call[2].dtype))
        report = trainer.step([next(trainer.batches.epoch(0))])
        assert set(dtypes) == {torch.float32 if precision == "fp32" else torch.bfloat16}
        assert all(p.dtype == torch.float32 for p in trainer.model.parameters())
        losses.append(report.loss)
    assert losses[0] != losses[1]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)


@pytest.mark.parametrize(
    ("flag", "palettes", "expected"),
    [(1, 1, True), (1, 0, False), (1, None, False), (0, 1, False)],
)
def test_a_cpu_has_bf16_if_its_tiles_are_real(
    monkeypatch: pytest.MonkeyPatch, flag: int, palettes: int | None, expected: bool
) -> None:
    monkeypatch.setattr(machine, "cpuid", lambda leaf: (0, 0, 0, flag << 22))
    monkeypatch.setattr(machine, "num_tile_palettes", lambda: palettes)
    assert machine.has_fast_bf16("cpu") is expected


def test_an_unknown_processor_is_not_trusted_with_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cpuid", lambda leaf: None)
    assert not machine.has_fast_bf16("cpu")
