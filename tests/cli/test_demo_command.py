import shutil
from pathlib import Path

import pytest

from regard.cli import demo
from regard.cli.app import main
from regard.config import RunConfig, with_overrides
from regard.data import phrasebook
from regard.data.corpus import Splits

SMALL = [
    "model.d_model=16",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "text.vocab_size=700",
    "train.steps=4",
    "train.save_every=2",
    "train.validate_every=4",
    "train.validate_bleu=false",
    "train.average=2",
    "decoding.beam=1",
    "decoding.max_extra=4",
]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The demo on a few sentences, for a few steps."""
    whole, few = demo.demo_config, phrasebook.phrasebook(size=600)

    def small_config(corpus: Path) -> RunConfig:
        return with_overrides(whole(corpus), SMALL)

    def small_corpus() -> Splits:
        return few

    monkeypatch.setattr(demo, "demo_config", small_config)
    monkeypatch.setattr(phrasebook, "phrasebook", small_corpus)
    monkeypatch.chdir(tmp_path)


def test_the_demo_trains_translates_and_draws(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--train"]) == 0
    printed = capsys.readouterr().out
    assert demo.SENTENCE in printed
    assert Path("demo/attention.png").read_bytes().startswith(b"\x89PNG")
    assert Path("demo/run/averaged-4").is_dir()


def test_a_second_demo_uses_the_trained_model() -> None:
    assert main(["demo", "--train"]) == 0
    before = Path("demo/run/log.jsonl").read_bytes()
    Path("demo/phrasebook/train.fr").unlink()
    assert main(["demo", "--train"]) == 0
    assert Path("demo/run/log.jsonl").read_bytes() == before


def test_an_interrupted_demo_goes_on() -> None:
    assert main(["demo", "--train"]) == 0
    for folder in ("averaged-4", "step-4"):
        shutil.rmtree(Path("demo/run") / folder)
    assert main(["demo", "--train"]) == 0
    assert Path("demo/run/averaged-4").is_dir()
