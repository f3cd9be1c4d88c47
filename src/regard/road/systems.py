"""The systems of the story, in its order: what each is, and what it is trained with."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from regard.errors import ConfigError
from regard.lens.published import (
    BASE,
    BYTENET,
    CONVS2S,
    DEEP_ATT,
    GNMT_RL,
    MOE,
    Published,
)

VOTERS = "+"
"""Joins the names of systems that vote."""

Kind = Literal["learned", "dictionary", "phrases"]
Settings = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One row of the race.

    Attributes:
        name: short, as `--systems` takes it.
        title: as the table says it.
        kind: learned by gradient, or made from counts.
        settings: what its run file has besides the race's own.
        starts_from: a system whose weights it begins with, if it is a fine-tuning.
        is_ablation: whether it is a variation of the Transformer, given half the time.
        published: its row in the paper's table.
    """

    name: str
    title: str
    kind: Kind = "learned"
    settings: Settings = field(default_factory=dict)
    starts_from: str | None = None
    is_ablation: bool = False
    published: Published | None = None


# Half an hour of two cores is a few thousand steps of a recurrent network.
RECURRENT = {"learning_rate": 2e-3, "warmup": 300, "batch_tokens": 2048}
# In that time a shallow network or a convolutional one reads a small corpus 25 to 45 times.
MORE_DROPOUT = 0.3
# A step with translations drawn for a reward costs as much as ten: there is time for few, from
# weights that are nearly trained.
REWARD = {
    "learning_rate": 1e-4,
    "schedule": "constant",
    "warmup": 20,
    "validate_every": 25,
    "save_every": 25,
}
# Share of the likelihood beside the reward (Wu et al. 2016, section 5, under equation 9).
ALPHA = 0.017
TRANSFORMER = {
    "d_model": 128,
    "heads": 4,
    "d_ff": 256,
    "encoder_layers": 4,
    "decoder_layers": 4,
    "norm_place": "pre",
    "dropout": 0.3,
}
WARM = {"learning_rate": 4e-3, "warmup": 1000, "batch_tokens": 2048}
# Norms after the sums need a longer climb (Xiong et al. 2020), and batches as large as those that
# Wu et al. 2021 trained such a model of this size with.
LONG_WARM = {"learning_rate": 5e-3, "warmup": 2000, "batch_tokens": 8192}
# Captions have fifteen pieces: the paper's window, twenty-one, would see them whole.
HALF_WIDTH = 3


def _recurrent(name: str, title: str, published: Published | None = None, **model: Any) -> System:
    return System(
        name=name,
        title=title,
        settings={"model": model, "train": RECURRENT},
        published=published,
    )


def _shallow(name: str, title: str, **model: Any) -> System:
    return _recurrent(name, title, dropout=MORE_DROPOUT, **model)


def _local(name: str, title: str, reach: str) -> System:
    return _shallow(name, title, arch="luong", reach=reach, half_width=HALF_WIDTH)


def _ablation(
    name: str, title: str, train: Mapping[str, Any] | None = None, **model: Any
) -> System:
    settings = {"model": TRANSFORMER | model, "train": {**WARM, **(train or {})}}
    return System(name=name, title=title, settings=settings, is_ablation=True)


SYSTEMS: tuple[System, ...] = (
    System(name="dictionary", title="Dictionary, word by word", kind="dictionary"),
    System(name="phrases", title="Phrases and a language model", kind="phrases"),
    _shallow("rnn", "RNN encoder-decoder", arch="seq2seq", cell="rnn"),
    _shallow("gru", "GRU encoder-decoder", arch="seq2seq", cell="gru", feed_summary=True),
    _shallow("lstm", "LSTM encoder-decoder", arch="seq2seq", cell="lstm"),
    _shallow(
        "lstm-norm", "LSTM with layer norm inside", arch="seq2seq", cell="lstm", cell_norm=True
    ),
    _shallow("bahdanau", "Bahdanau: GRU + additive attention", arch="bahdanau"),
    _shallow("luong-dot", "Luong: LSTM + dot", arch="luong", score="dot"),
    _shallow("luong-general", "Luong: LSTM + general", arch="luong", score="general"),
    _shallow("luong-concat", "Luong: LSTM + concat", arch="luong", score="concat"),
    _local("luong-local-m", "Luong: local, monotonic", reach="local-m"),
    _local("luong-local-p", "Luong: local, predicted", reach="local-p"),
    _recurrent("deep-att", "Deep-Att", DEEP_ATT, arch="deep_att"),
    _recurrent("gnmt", "GNMT", arch="gnmt"),
    System(
        name="gnmt-rl",
        title="GNMT + RL",
        settings={"model": {"arch": "gnmt"}, "train": RECURRENT | REWARD | {"reward": 1 / ALPHA}},
        starts_from="gnmt",
        published=GNMT_RL,
    ),
    _recurrent("gnmt-moe", "GNMT + mixture of experts", MOE, arch="gnmt", experts=4),
    System(
        name="bytenet",
        title="ByteNet",
        # With the paper's 1.2 one caption in twenty is too long, with 1.5 one in 500.
        settings={
            "model": {"arch": "bytenet", "length_factor": 1.5, "dropout": MORE_DROPOUT},
            "train": RECURRENT,
        },
        published=BYTENET,
    ),
    System(
        name="convs2s",
        title="ConvS2S",
        settings={"model": {"arch": "convs2s", "dropout": MORE_DROPOUT}, "train": RECURRENT},
        published=CONVS2S,
    ),
    System(
        name="transformer",
        title="Transformer, pre-norm",
        settings={"model": TRANSFORMER, "train": WARM},
        published=BASE,
    ),
    System(
        name="transformer-post",
        title="Transformer, post-norm",
        settings={"model": TRANSFORMER | {"norm_place": "post"}, "train": LONG_WARM},
    ),
    System(
        name="transformer-moe",
        title="Transformer + mixture of experts",
        settings={"model": TRANSFORMER | {"experts": 4, "experts_top_k": 2}, "train": WARM},
    ),
    _ablation("heads-1", "Transformer, 1 head", heads=1),
    _ablation("heads-2", "Transformer, 2 heads", heads=2),
    _ablation("heads-4", "Transformer, 4 heads: nothing changed"),
    _ablation("heads-8", "Transformer, 8 heads", heads=8),
    _ablation("d-key-8", "Transformer, d_k = 8", d_key=8),
    _ablation("no-positions", "Transformer without positions", position="none"),
    _ablation("learned-positions", "Transformer, learned positions", position="learned"),
    _ablation("no-residual", "Transformer without residuals", residual=False),
    _ablation("batch-norm", "Transformer, batch norm", norm="batch"),
    _ablation("no-smoothing", "Transformer, no label smoothing", {"label_smoothing": 0.0}),
)


def find_systems(names: Sequence[str]) -> list[System]:
    """The systems of these names in the order of the story; all, if none is named.

    Raises:
        ConfigError: one is unknown.
    """
    known = {system.name: system for system in SYSTEMS}
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            raise ConfigError(f"--systems {name}: no such system; {hint}")
    wanted = set(names or known)
    return [system for system in SYSTEMS if system.name in wanted]


def with_bases(systems: Sequence[System]) -> list[System]:
    """All that must be trained for these: before a fine-tuning comes what it starts from."""
    known = {system.name: system for system in SYSTEMS}
    found: dict[str, System] = {}
    for system in systems:
        base = system.starts_from
        if base is not None and base not in found:
            found[base] = known[base]
        found[system.name] = system
    return list(found.values())
