"""From a config to objects."""

import dataclasses
from pathlib import Path

import pytest

from regard.build import (
    ARCHITECTURES,
    build_model,
    build_trainer,
    create_run,
    open_run,
    training_examples,
    validation_examples,
)
from regard.config import MODELS, RunConfig
from regard.data.config import DataConfig
from regard.errors import ConfigError, DataError, ModelFileError
from regard.text.config import TextConfig
from regard.train.checkpoint import model_tensors
from tests.little_corpus import little_run, sentences, write_corpus
from tests.train.recording import equal


def test_every_config_has_its_architecture() -> None:
    assert {arch: config for arch, (config, _) in ARCHITECTURES.items()} == MODELS
    assert all(arch == config.arch for arch, config in MODELS.items())


def test_a_run_folder_comes_back_as_it_was_made(tmp_path: Path, corpus: tuple[Path, Path]) -> None:
    created = create_run(tmp_path / "run", little_run(corpus))
    opened = open_run(tmp_path / "run")
    assert opened.config == created.config
    assert opened.tokenisers.fingerprint() == created.tokenisers.fingerprint()


def test_a_config_without_data_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'data.train names no files; set it to \["train.fr"'):
        create_run(tmp_path / "run", RunConfig())
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="absent: no such run folder; `regard train` makes"):
        open_run(tmp_path / "absent")


@pytest.mark.parametrize("name", ["run.toml", "tokeniser/joint.model", "tokeniser/tokeniser.json"])
def test_a_damaged_file_of_the_run_is_named(copied_run: Path, name: str) -> None:
    path = copied_run / name
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(ModelFileError, match=f"{name} is damaged"):
        open_run(copied_run)


def test_the_same_seed_begins_with_the_same_weights(trained_run: Path) -> None:
    run = open_run(trained_run)
    first, second = build_trainer(run), build_trainer(run)
    assert equal(model_tensors(first.model), model_tensors(second.model))


def test_the_same_seed_ends_with_the_same_weights(
    tmp_path: Path, corpus: tuple[Path, Path]
) -> None:
    ends = []
    for name, seed in (("first", 1), ("second", 1), ("other", 2)):
        run = create_run(tmp_path / name, little_run(corpus, steps=3, seed=seed))
        trainer = build_trainer(run)
        trainer.train()
        ends.append(model_tensors(trainer.model))
    assert equal(ends[0], ends[1])
    assert not equal(ends[0], ends[2])


def test_another_seed_makes_other_weights(trained_run: Path) -> None:
    run = open_run(trained_run)
    train = dataclasses.replace(run.config.train, seed=2)
    other = dataclasses.replace(run, config=dataclasses.replace(run.config, train=train))
    first, second = build_trainer(run), build_trainer(other)
    assert not equal(model_tensors(first.model), model_tensors(second.model))


def test_held_out_and_training_pairs_are_the_corpus(corpus: tuple[Path, Path]) -> None:
    config = little_run(corpus).data
    held, kept = list(validation_examples(config)), list(training_examples(config))
    assert len(held) == config.valid_size
    assert not {e.source for e in held} & {e.source for e in kept}
    assert sorted((e.source, e.target) for e in held + kept) == sorted(sentences())


def test_given_validation_files_leave_all_of_train(tmp_path: Path) -> None:
    (tmp_path / "valid").mkdir()
    train, valid = write_corpus(tmp_path), write_corpus(tmp_path / "valid")
    config = DataConfig(train=tuple(map(str, train)), valid=tuple(map(str, valid)))
    assert len(list(training_examples(config))) == len(sentences())
    assert len(list(validation_examples(config))) == len(sentences())


def test_training_never_sees_what_is_held_out(trained_run: Path) -> None:
    trainer = build_trainer(open_run(trained_run))
    assert trainer.batches.num_examples == len(sentences()) - len(trainer.validator.examples)


def test_long_pairs_are_left_out_of_training_only(
    tmp_path: Path, corpus: tuple[Path, Path]
) -> None:
    run = create_run(tmp_path / "run", little_run(corpus, max_length=9))
    trainer = build_trainer(run)
    assert trainer.batches.num_left_out > 0
    assert trainer.validator.batches.num_left_out == 0


def test_a_model_has_the_vocabularies_of_its_tokenisers(
    tmp_path: Path, corpus: tuple[Path, Path]
) -> None:
    config = little_run(corpus)
    model = dataclasses.replace(config.model, share_embeddings="target")
    text = TextConfig(kind="words", vocab_size=40, joint=False)
    run = create_run(tmp_path / "run", dataclasses.replace(config, text=text, model=model))
    tensors = model_tensors(build_model(run.config.model, run.tokenisers))
    assert len(tensors["source.embedding.weight"]) == len(run.tokenisers.source)
    assert len(tensors["target.embedding.weight"]) == len(run.tokenisers.target)


# ------------------------------------------------------------------------------ changed data


@pytest.mark.parametrize("side", [0, 1])
def test_changed_data_is_refused_and_named(
    tmp_path: Path, corpus: tuple[Path, Path], side: int
) -> None:
    run = create_run(tmp_path / "run", little_run(corpus))
    build_trainer(run)
    with corpus[side].open("a", encoding="utf-8") as file:
        file.write("encore\n")
    with pytest.raises(DataError, match=f"{corpus[side].name} is not the file that .*run began"):
        build_trainer(open_run(run.folder))


def test_changed_validation_data_is_refused(tmp_path: Path, corpus: tuple[Path, Path]) -> None:
    valid = tmp_path / "valid.fr", tmp_path / "valid.en"
    for path in valid:
        path.write_text("oui\n", "utf-8")
    config = little_run(corpus)
    data = dataclasses.replace(config.data, valid=tuple(map(str, valid)))
    run = create_run(tmp_path / "run", dataclasses.replace(config, data=data))
    valid[1].write_text("non\n", "utf-8")
    with pytest.raises(DataError, match=r"valid\.en is not the file that"):
        build_trainer(run)


def test_data_that_is_gone_is_one_line(tmp_path: Path, corpus: tuple[Path, Path]) -> None:
    run = create_run(tmp_path / "run", little_run(corpus))
    corpus[0].unlink()
    with pytest.raises(DataError, match=r"train\.fr cannot be read: No such file"):
        build_trainer(run)


def test_a_run_without_checksums_is_not_asked_for_them(
    tmp_path: Path, corpus: tuple[Path, Path]
) -> None:
    run = create_run(tmp_path / "run", little_run(corpus))
    (run.folder / "corpus.json").unlink()
    assert build_trainer(run).batches.num_examples > 0
