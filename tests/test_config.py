"""The run file: there and back, and what is said when it is wrong."""

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.config import (
    MODELS,
    RunConfig,
    changed,
    commented_config,
    field_docs,
    parse_config,
    read_config,
    with_overrides,
    write_config,
)
from regard.data.config import DataConfig
from regard.decoding.config import DecodingConfig
from regard.errors import ConfigError
from regard.models.transformer import PRESETS, TransformerConfig
from regard.text.config import TextConfig
from regard.train.config import TrainConfig

TABLES = [field.name for field in dataclasses.fields(RunConfig)]
KEYS = [
    (table, key.name) for table in TABLES for key in dataclasses.fields(getattr(RunConfig(), table))
]
texts = st.text(st.characters(exclude_categories=["Cs"]))


# ------------------------------------------------------------------------------ there and back


@given(files=st.lists(texts, max_size=2), language=texts)
def test_any_string_comes_back(files: list[str], language: str) -> None:
    config = RunConfig(data=DataConfig(train=tuple(files), source_language=language))
    assert parse_config(write_config(config), "run.toml") == config


@given(
    rate=st.floats(min_value=0, exclude_min=True),
    epsilon=st.floats(min_value=0, exclude_min=True, allow_infinity=False),
    beam=st.integers(1, 1000),
    is_sampling=st.booleans(),
)
def test_any_number_comes_back(rate: float, epsilon: float, beam: int, is_sampling: bool) -> None:
    config = RunConfig(
        train=TrainConfig(learning_rate=rate, epsilon=epsilon),
        decoding=DecodingConfig(beam=beam, sample=is_sampling),
    )
    assert parse_config(write_config(config), "run.toml") == config


@pytest.mark.parametrize("preset", PRESETS)
def test_a_commented_run_file_says_the_same(preset: str) -> None:
    config = RunConfig(model=PRESETS[preset], text=TextConfig(kind="unigram"))
    assert parse_config(commented_config(config), "run.toml") == config


@pytest.mark.parametrize(("table", "key"), KEYS)
def test_every_key_has_a_comment_above_it(table: str, key: str) -> None:
    lines = commented_config(RunConfig()).splitlines()
    start = lines.index(f"[{table}]")
    place = next(i for i in range(start, len(lines)) if lines[i].startswith(f"{key} = "))
    assert lines[place - 1].startswith("# ") and len(lines[place - 1]) > 4


def test_a_comment_lists_the_choices() -> None:
    assert field_docs(TrainConfig)["stop_on"].endswith("(loss | bleu)")


@pytest.mark.parametrize("arch", MODELS)
def test_every_architecture_comes_back(arch: str) -> None:
    config = RunConfig(model=MODELS[arch]())
    assert parse_config(write_config(config), "run.toml") == config
    assert parse_config(commented_config(config), "run.toml") == config
    assert parse_config(f"[model]\narch = '{arch}'", "run.toml") == config
    assert with_overrides(RunConfig(), [f"model.arch={arch}"]) == config


def test_a_model_without_an_architecture_is_a_transformer() -> None:
    found = parse_config("[model]\nd_model = 64", "run.toml").model
    assert found == TransformerConfig(d_model=64)


def test_an_empty_file_is_all_defaults() -> None:
    assert parse_config("", "run.toml") == RunConfig()


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes(b"\xef\xbb\xbf[train]\nsteps = 7\n")
    assert read_config(path).train.steps == 7


# ------------------------------------------------------------------------------ --set


@pytest.mark.parametrize(
    ("override", "table", "key", "value"),
    [
        ("train.steps=7", "train", "steps", 7),
        ("train.steps=1e3", "train", "steps", 1000),
        ("train.learning_rate=3e-4", "train", "learning_rate", 3e-4),
        ("model.dropout=0", "model", "dropout", 0.0),
        ("train.device=cpu", "train", "device", "cpu"),
        ('train.device="cpu"', "train", "device", "cpu"),
        ("train.validate_bleu=false", "train", "validate_bleu", False),
        ('data.train=["a b", "c=d"]', "data", "train", ("a b", "c=d")),
        ("data.source_language=", "data", "source_language", ""),
        (" text.kind=words", "text", "kind", "words"),
    ],
)
def test_an_override_is_toml_or_plain_text(
    override: str, table: str, key: str, value: object
) -> None:
    found = getattr(getattr(with_overrides(RunConfig(), [override]), table), key)
    assert found == value
    assert type(found) is type(value)


def test_the_last_override_wins_and_the_rest_stays() -> None:
    config = with_overrides(RunConfig(), ["train.steps=1", "train.steps=2"])
    expected = dataclasses.replace(RunConfig(), train=TrainConfig(steps=2))
    assert config == expected


# ------------------------------------------------------------------------------ messages


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "run.toml: not TOML: "),
        ("[trian]", "run.toml: unknown table [trian]; did you mean train?"),
        ("[zzz]", "run.toml: unknown table [zzz]; known are data, decoding, model, text, train"),
        ("train = 3", "run.toml: train must be a table: write [train]"),
        ("[train]\nstep = 3", "run.toml: unknown key train.step; did you mean train.steps?"),
        ("[data]\nqqqq = 3", "unknown key data.qqqq; known are alignment, names, noise, source"),
        ("[train]\nsteps = 'many'", "run.toml: train.steps = 'many': input should be a valid int"),
        ("[train]\nsteps = 1.5", "run.toml: train.steps = 1.5: input should be a valid integer"),
        ("[train]\nsteps = true", "run.toml: train.steps = True: expected no true or false"),
        ("[train]\nvalidate_bleu = 1", "train.validate_bleu = 1: expected true or false"),
        ("[train]\nvalidate_bleu = 'yes'", "train.validate_bleu = 'yes': expected true or false"),
        ("[train]\nsteps = 0", "run.toml: train.steps = 0: input should be greater than 0"),
        ("[train]\nlearning_rate = nan", "run.toml: train.learning_rate = nan: input should be"),
        ("[model]\ndropout = 1.0", "model.dropout = 1.0: input should be less than 1"),
        ("[model]\nnorm = 'bach'", "model.norm = 'bach': input should be 'layer' or 'batch'"),
        ("[model]\narch = 'transfomer'", "arch = 'transfomer'; did you mean transformer?"),
        ("[model]\narch = 7", "run.toml: model.arch = 7; known are "),
        ("[data]\ntrain = 'a'", "run.toml: data.train = 'a': input should be a valid tuple"),
        ("[data]\ntrain = [1, 2]", "run.toml: data.train.0 = 1: input should be a valid string"),
        ("[data]\ntrain = ['a', 'b', 'c']", "run.toml: data.train names 3 files; expected a sour"),
        ("[data]\nvalid = ['a', 'b', 'c']", "run.toml: data.valid names 3 files"),
        ("[model]\nheads = 7", "model.heads = 7 does not divide model.d_model = 512; try 4"),
        (
            "[train]\nreward = 1\nr_drop = 5",
            "train.r_drop = 5.0 needs dropout, and with train.rewa",
        ),
        ("[train]\naverage = 9", "train.average = 9 needs as many checkpoints, but train.keep = 5"),
        (
            "[train]\nstop_on = 'bleu'\nvalidate_bleu = false",
            'run.toml: train.stop_on = "bleu" needs train.validate_bleu = true',
        ),
        (
            "[train]\npaper_bleu = true\n[data]\ntarget_language = 'it'",
            "train.paper_bleu = true needs data.target_language, one of cs, de, en, fr; it is 'it'",
        ),
        (
            "[train]\nrecompute = true\n[model]\nnorm = 'batch'",
            'train.recompute = true runs a block twice, and model.norm = "batch"',
        ),
        ("[text]\nkind = 'words'\nsampling = 0.1", "run.toml: text.sampling = 0.1 needs text.kind"),
        ("[data]\nnoise = 1.5", "data.noise = 1.5: input should be less than or equal to 1"),
        ("[data]\nnoise = 0.1\n[text]\nkind = 'words'", "data.noise = 0.1 needs pieces that spell"),
        ("[text]\njoint = false", 'model.share_embeddings = "all" needs text.joint = true'),
        ("[decoding]\nn_best = 9", "run.toml: n_best = 9 is more than beam = 4"),
        # The TOML reader keeps every beginning of such a key: memory by the square of its parts.
        ("a." * 60 + "a = 1", "run.toml: line 1 has more than 50 full stops"),
        ("\n[" + "a." * 60 + "a]", "run.toml: line 2 has more than 50 full stops"),
        ("#" * 300_000, "run.toml: 300,000 characters; a run file has far fewer"),
        ("a = " + "[" * 99_999, "run.toml: not TOML: nested too deeply"),
        ("a = " + "9" * 5000, "run.toml: not TOML: Exceeds the limit"),
        ('[train]\n"a\\nb" = 1', "run.toml: unknown key train.'a\\nb'; known are"),
        ("[train]\nsteps = '" + "x" * 999 + "'", "run.toml: train.steps = 'xxxx"),
        ("[model]\nencoder_layers = 501", "model.encoder_layers = 501: input should be less"),
    ],
)
def test_a_wrong_run_file_is_one_line_that_says_where(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "run.toml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("run.toml: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("steps=3", "--set steps=3: expected table.key=value, such as train.steps=1000"),
        ("train.steps", "--set train.steps: expected table.key=value"),
        ("", "--set : expected table.key=value"),
        ("=", "--set =: expected table.key=value"),
        ("train.step=3", "--set: unknown key train.step; did you mean train.steps?"),
        ("trian.steps=3", "--set: unknown table [trian]; did you mean train?"),
        ("train.steps=-1", "--set: train.steps = -1: input should be greater than 0"),
        ("train.steps=lots", "--set: train.steps = 'lots': input should be a valid integer"),
        ("train.adam.beta=3", "--set: unknown key train.adam.beta"),
    ],
)
def test_a_wrong_override_is_one_line(override: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        with_overrides(RunConfig(), [override])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "cannot be read (No such file or directory)"), (b"\xff", "byte 1 is not UTF-8")],
)
def test_an_unreadable_run_file_is_named(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "run.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    assert str(caught.value) == f"{path}: {message}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beem": 1}, "unknown option beem; did you mean beam?"),
        ({"beam": 0}, "decoding.beam = 0: input should be greater than 0"),
        ({"penalty": "none"}, "decoding.penalty = 'none': input should be 'length' or 'gnmt'"),
        ({"n_best": 5}, "n_best = 5 is more than beam = 4"),
    ],
)
def test_a_wrong_option_is_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        changed(DecodingConfig(), changes, "decoding")
    assert message in str(caught.value)


def test_a_changed_config_differs_in_what_was_changed() -> None:
    expected = DecodingConfig(beam=7, alpha=0.5)
    assert changed(DecodingConfig(), {"beam": 7, "alpha": 0.5}, "decoding") == expected


def test_the_written_file_is_toml_with_every_key() -> None:
    tables = tomllib.loads(write_config(RunConfig()))
    assert [(table, key) for table in tables for key in tables[table]] == KEYS
