"""What is chosen for someone who has two files and no run file."""

import gzip
from pathlib import Path

import pytest

from regard.config import RunConfig
from regard.defaults import config_for_files
from regard.models.transformer import PRESETS
from regard.text.config import TextConfig


def config_of(monkeypatch: pytest.MonkeyPatch, num_pairs: int) -> RunConfig:
    monkeypatch.setattr("regard.defaults.count_pairs", lambda spec: num_pairs)
    return config_for_files(Path("train.fr"), Path("train.en"))


def test_pairs_are_counted_in_the_files(corpus: tuple[Path, Path]) -> None:
    assert config_for_files(*corpus).data.valid_size == 192 // 20


@pytest.mark.parametrize("num_pairs", [5, 20, 1000, 30_000, 60_000, 1_000_000, 50_000_000])
def test_every_size_of_corpus_gets_a_sound_run(
    monkeypatch: pytest.MonkeyPatch, num_pairs: int
) -> None:
    config = config_of(monkeypatch, num_pairs)
    assert 5 * config.data.valid_size <= num_pairs
    assert 500 <= config.text.vocab_size <= TextConfig.vocab_size
    assert config.train.warmup < config.train.steps
    assert config.train.validate_every < config.train.steps
    assert config.train.patience > 0


def test_more_data_means_a_larger_model_and_less_dropout(monkeypatch: pytest.MonkeyPatch) -> None:
    few, some, many = (config_of(monkeypatch, n).model for n in (1000, 100_000, 1_000_000))
    assert few.d_model == some.d_model == PRESETS["tiny"].d_model
    assert many.d_model == PRESETS["small"].d_model
    assert few.dropout > some.dropout == many.dropout


@pytest.mark.parametrize(
    ("name", "language"),
    [("train.fr", "fr"), ("train.fr.gz", "fr"), ("train.txt", ""), ("train", ""), ("a.b.de", "de")],
)
def test_languages_come_from_the_names_of_the_files(
    tmp_path: Path, name: str, language: str
) -> None:
    path = tmp_path / name
    content = b"un\ndeux\ntrois\nquatre\ncinq\n"
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    config = config_for_files(path, path)
    assert (config.data.source_language, config.data.target_language) == (language, language)
