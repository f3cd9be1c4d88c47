"""The run file: TOML in, typed and frozen dataclasses out, and back."""

import dataclasses
import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from pydantic import InstanceOf, TypeAdapter, ValidationError
from typing_extensions import Doc

from regard.bounded import named, read_bounded, shown
from regard.data.config import DataConfig
from regard.decoding.config import DecodingConfig
from regard.errors import ConfigError, ModelFileError
from regard.metrics.options import Language
from regard.models.bahdanau import BahdanauConfig
from regard.models.bytenet import ByteNetConfig
from regard.models.convs2s import ConvS2SConfig
from regard.models.deep_att import DeepAttConfig
from regard.models.gnmt import GNMTConfig
from regard.models.interface import ModelConfig
from regard.models.luong import LuongConfig
from regard.models.seq2seq import EncoderDecoderConfig
from regard.models.transformer import TransformerConfig
from regard.text.config import TextConfig
from regard.text.normal import is_well_formed
from regard.train.config import TrainConfig

# A run file has a few kilobytes, and names such as train.steps. The TOML reader needs memory by
# the square of a key's dots.
MAX_FILE_BYTES = 250_000
MAX_DOTS_A_LINE = 50

# What [model] may describe, by its `arch`; `build.ARCHITECTURES` has the models. A run file that
# names none means the first.
MODELS: dict[str, type[ModelConfig]] = {
    "transformer": TransformerConfig,
    "seq2seq": EncoderDecoderConfig,
    "bahdanau": BahdanauConfig,
    "luong": LuongConfig,
    "deep_att": DeepAttConfig,
    "gnmt": GNMTConfig,
    "bytenet": ByteNetConfig,
    "convs2s": ConvS2SConfig,
}


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything that defines a run, one table each."""

    data: DataConfig = field(default_factory=DataConfig)
    text: TextConfig = field(default_factory=TextConfig)
    model: InstanceOf[ModelConfig] = field(default_factory=TransformerConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)

    def __post_init__(self) -> None:
        for table, values in dataclasses.asdict(self).items():
            for key, value in values.items():
                for text in value if isinstance(value, tuple) else (value,):
                    if isinstance(text, str) and not is_well_formed(text):
                        raise ConfigError(
                            f"{table}.{key} = {shown(text)} is not UTF-8, as a run file is; "
                            "rename it"
                        )
        if self.model.share_embeddings == "all" and not self.text.joint:
            raise ConfigError(
                'model.share_embeddings = "all" needs text.joint = true; '
                'set it, or model.share_embeddings = "target"'
            )
        for key, share in (("noise", self.data.noise), ("names", self.data.names)):
            if share > 0 and self.text.kind == "words":
                raise ConfigError(
                    f"data.{key} = {share} needs pieces that spell any word; "
                    'text.kind = "words" knows none that it has not read: set text.kind = "bpe"'
                )
        if self.train.paper_bleu and self.data.target_language not in get_args(Language):
            raise ConfigError(
                f"train.paper_bleu = true needs data.target_language, one of "
                f"{', '.join(get_args(Language))}; it is {shown(self.data.target_language)}"
            )
        if self.train.recompute and getattr(self.model, "norm", "layer") == "batch":
            raise ConfigError(
                'train.recompute = true runs a block twice, and model.norm = "batch" would count '
                'its sentences twice; set model.norm = "layer", or train.recompute = false'
            )
        if self.train.guided_alignment > 0 and not self.data.alignment:
            raise ConfigError(
                f"train.guided_alignment = {self.train.guided_alignment} needs data.alignment; "
                "`regard align --out FILE` makes it"
            )


Config = TypeVar("Config", RunConfig, ModelConfig, DecodingConfig)


def read_config(path: Path) -> RunConfig:
    """Read a run file.

    Raises:
        ConfigError: the file cannot be read, a key is unknown (with the nearest known one), or
            a value does not fit.
    """
    if not path.exists():
        raise ConfigError(f"{path}: cannot be read (No such file or directory)")
    try:
        text = read_bounded(path, MAX_FILE_BYTES).decode("utf-8-sig")
    except ModelFileError as error:
        raise ConfigError(str(error)) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start + 1:,} is not UTF-8") from None
    return parse_config(text, str(path))


def parse_config(text: str, name: str) -> RunConfig:
    """The same for TOML already in memory; `name` says in a message where it came from."""
    if len(text) > MAX_FILE_BYTES:
        raise ConfigError(f"{name}: {len(text):,} characters; a run file has far fewer")
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MAX_DOTS_A_LINE:
            raise ConfigError(f"{name}: line {number:,} has more than {MAX_DOTS_A_LINE} full stops")
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{name}: not TOML: nested too deeply") from None
    except ValueError as error:  # of which TOMLDecodeError is one, a number too long another
        raise ConfigError(f"{name}: not TOML: {error}") from None
    return config_of(tables, name)


def with_overrides(config: RunConfig, overrides: Sequence[str]) -> RunConfig:
    """The config with `table.key=value` overrides applied and checked.

    Another `model.arch` begins from that architecture's defaults.

    Raises:
        ConfigError: as `read_config`.
    """
    tables = dataclasses.asdict(config)
    asked: dict[str, Any] = {}
    for override in overrides:
        _apply(asked, override)
    if asked.get("model", {}).get("arch", config.model.arch) != config.model.arch:
        tables["model"] = {}
    for table, values in asked.items():
        tables.setdefault(table, {}).update(values)
    return config_of(tables, "--set")


def changed(config: DecodingConfig, changes: Mapping[str, Any], table: str) -> DecodingConfig:
    """A config with some fields changed, checked like a run file; `table` names it in messages.

    Raises:
        ConfigError: a field is unknown, or a value does not fit.
    """
    known = {f.name for f in dataclasses.fields(config)}
    for key in changes:
        if key not in known:
            raise ConfigError(f"unknown option {named(key)}{_nearest(key, known)}")
    return _checked(type(config), {**dataclasses.asdict(config), **changes}, f"{table}.")


def write_config(config: RunConfig) -> str:
    """The config as a run file, every value written out."""
    return _toml(dataclasses.asdict(config), comments={})


def commented_config(config: RunConfig) -> str:
    """The config as a run file with a comment beside every value, from the fields' own docs."""
    comments = {
        f"{table.name}.{key}": doc
        for table in dataclasses.fields(config)
        for key, doc in field_docs(type(getattr(config, table.name))).items()
    }
    return _toml(dataclasses.asdict(config), comments)


def field_docs(kind: type) -> dict[str, str]:
    """What each field of a config dataclass is for, and the choices it has."""
    docs = {}
    for key, hint in get_type_hints(kind, include_extras=True).items():
        doc = next((m.documentation for m in _metadata(hint) if isinstance(m, Doc)), "")
        choices = _choices(hint)
        docs[key] = f"{doc} ({' | '.join(choices)})" if len(choices) > 1 else doc
    return docs


def _metadata(hint: Any) -> Iterable[Any]:
    return getattr(hint, "__metadata__", ())


def _choices(hint: Any) -> list[str]:
    inner = get_args(hint)[0] if _metadata(hint) else hint
    return [str(choice) for choice in get_args(inner)] if get_origin(inner) is Literal else []


def _apply(tables: dict[str, Any], override: str) -> None:
    """Set one key; the value is TOML, or plain text where it is not."""
    path, equals, value = override.partition("=")
    table, dot, key = path.strip().partition(".")
    if not equals or not dot:
        raise ConfigError(f"--set {override}: expected table.key=value, such as train.steps=1000")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except ValueError:
        parsed = value
    tables.setdefault(table, {})[key] = parsed


def config_of(tables: Mapping[str, Any], name: str) -> RunConfig:
    """The config that the tables of a run file describe; `name` says where they came from.

    Raises:
        ConfigError: as `read_config`.
    """
    kinds: dict[str, Any] = {f.name: f.type for f in dataclasses.fields(RunConfig)}
    for table, values in tables.items():
        if table not in kinds:
            raise ConfigError(f"{name}: unknown table [{named(table)}]{_nearest(table, kinds)}")
        if not isinstance(values, Mapping):
            raise ConfigError(f"{name}: {table} must be a table: write [{table}]")
        if table == "model":
            kinds[table] = _architecture(values, name)
        known = {f.name: f.default for f in dataclasses.fields(kinds[table])}
        for key, value in values.items():
            if key not in known:
                raise ConfigError(
                    f"{name}: unknown key {table}.{named(key)}{_nearest(key, known, table)}"
                )
            # Python, and pydantic with it, takes true for 1.
            if isinstance(value, bool) != isinstance(known[key], bool):
                expected = "true or false" if isinstance(known[key], bool) else "no true or false"
                raise ConfigError(f"{name}: {table}.{key} = {shown(value)}: expected {expected}")
    try:
        if "model" in tables:
            tables = {**tables, "model": _checked(kinds["model"], tables["model"], "model.")}
        return _checked(RunConfig, tables, "")
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def _architecture(values: Mapping[str, Any], name: str) -> type[ModelConfig]:
    """The dataclass that a [model] table fills."""
    arch = values.get("arch", next(iter(MODELS)))
    if not isinstance(arch, str) or arch not in MODELS:
        raise ConfigError(f"{name}: model.arch = {shown(arch)}{_nearest(str(arch), MODELS)}")
    return MODELS[arch]


def _checked(kind: type[Config], values: Mapping[str, Any], prefix: str) -> Config:
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        reason = first["msg"][0].lower() + first["msg"][1:]
        raise ConfigError(f"{prefix}{where} = {shown(first['input'])}: {reason}") from None


def _nearest(word: str, known: Iterable[str], table: str = "") -> str:
    close = difflib.get_close_matches(word[:100], list(known), n=1, cutoff=0.5)
    prefix = f"{table}." if table else ""
    if close:
        return f"; did you mean {prefix}{close[0]}?"
    return f"; known are {', '.join(sorted(known))}"


def _toml(tables: Mapping[str, Mapping[str, Any]], comments: Mapping[str, str]) -> str:
    lines: list[str] = []
    for table, values in tables.items():
        lines += [f"[{table}]"]
        for key, value in values.items():
            comment = comments.get(f"{table}.{key}")
            if comment:
                lines += [f"# {comment}"]
            lines += [f"{key} = {_toml_value(value)}"]
        lines += [""]
    return "\n".join(lines)


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _toml_string(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    assert isinstance(value, int | float), value
    return repr(value)


def _toml_string(text: str) -> str:
    escaped = "".join(
        f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) == 127 else f"\\{c}" if c in '"\\' else c
        for c in text
    )
    return f'"{escaped}"'
