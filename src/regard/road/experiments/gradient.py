"""How far back does a gradient reach? Its norm from an encoder's last state to each of its inputs.

    g(d) = ‖∂h_t / ∂x_{t−d}‖_F,   d = 0 … t

x_s is the embedding of the s-th token in the order of reading, h_t the state that the decoder is
given of the last one. What g(d) is made of:

    recurrent    ∏_{i=t−d+1}^{t} ∂h_i/∂h_{i−1} · ∂h_{t−d}/∂x_{t−d}: a product of d matrices, which
                 vanishes or explodes like λ^d (Bengio, Simard & Frasconi 1994)
    LSTM         ∂c_i/∂c_{i−1} ≈ f_i, a gate that may stay open: the product need not vanish
                 (Hochreiter & Schmidhuber 1997, section 3; the gate is Gers et al. 2000's)
    convolution  0 beyond the kernels, which reach L (k − 1)/2 tokens to each side in L layers of
                 width k (ConvS2S), or (k − 1)/2 · Σ r with dilations r (ByteNet)
    attention    every input is one step away, whatever d

Vaswani et al. 2017, table 1, has the longest paths: O(n), O(n), O(n/k) or O(log n), O(1).

Measured on untrained weights, and again after a training, on sequences of LENGTH tokens of the
test set, whose sentences are read as one. Differs: the encoder of ConvS2S passes on only a share of
its gradient, and h_t has the embedding at its side (`models.convs2s`): its curve stands higher at
d = 0 for that, and keeps its reach. Curves are drawn as g(d) / g(0).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import torch

from regard.build import build_model
from regard.data.joined import joined
from regard.errors import ConfigError
from regard.loading import choose_checkpoint, load_model
from regard.models.interface import Seq2Seq
from regard.road.charts import axes_of, line
from regard.road.race import Race
from regard.road.systems import System
from regard.road.table import Grid
from regard.road.track import Track
from regard.shapes import Float, Int, Tensor

SYSTEMS = ("rnn", "lstm", "bytenet", "convs2s", "transformer")
LENGTH = 80
SEQUENCES = 8
PROBES = 32
SEED = 0
# Distances that the table shows.
SHOWN = (1, 4, 10, 20, 40, LENGTH - 1)
CHART = "gradient-distance.png"


@dataclass(frozen=True, kw_only=True)
class Reach:
    """How far the gradient of one system reaches.

    Attributes:
        system: its short name.
        title: as the table says it.
        bleu: on the test set, after training.
        untrained: g(0), g(1) …, with the weights that training begins with.
        trained: the same after it.
    """

    system: str
    title: str
    bleu: float
    untrained: tuple[float, ...]
    trained: tuple[float, ...]


def run(track: Track) -> Iterator[Reach]:
    """Train the systems, and measure each before and after.

    Raises:
        ConfigError: a system has no gradient, or the test set is too short.
        Stopped: a signal came.
    """
    systems = track.systems(SYSTEMS)
    for system in systems:
        if system.kind != "learned":
            raise ConfigError(
                f"--systems {system.name}: made of counts, it has no gradient; leave it out"
            )
    race = track.race_on(joined)
    source = sequences(race)
    for system in systems:
        result = track.attempt(race, system)
        if result is None:
            continue
        run = race.run_of(system)
        before, after = (
            tuple(gradient_norms(model, source, PROBES).tolist())
            for model in (untrained(race, system), load_model(run, choose_checkpoint(run)))
        )
        yield Reach(
            system=system.name,
            title=system.title,
            bleu=result.bleu,
            untrained=before,
            trained=after,
        )


def sequences(race: Race) -> Int[Tensor, "B S"]:
    """The first tokens of the test set in sequences of LENGTH, each ended as a sentence is.

    Raises:
        ConfigError: there are not enough.
    """
    tokeniser = race.tokenisers.source
    ids = chain.from_iterable(
        tokeniser.encode_ids([example.source for example in race.corpus.examples("test")])
    )
    wanted = SEQUENCES * (LENGTH - 1)
    stream = list(islice(ids, wanted))
    if len(stream) < wanted:
        raise ConfigError(
            f"{race.corpus.files('test')[0]} has {len(stream):,} tokens, --experiment gradient "
            f"needs {wanted:,}; give a longer test set"
        )
    cut = torch.tensor(stream).view(SEQUENCES, LENGTH - 1)
    return torch.nn.functional.pad(cut, (0, 1), value=tokeniser.eos)


def untrained(race: Race, system: System) -> Seq2Seq[Any]:
    """A system as its training found it."""
    config = race.config(system)
    torch.manual_seed(config.train.seed)
    return build_model(config.model, race.tokenisers)


def gradient_norms(
    model: Seq2Seq[Any], source: Int[Tensor, "B S"], num_probes: int
) -> Float[Tensor, "S"]:
    """‖∂h_t/∂x_{t−d}‖_F for every d, the mean over the sequences; t is their last position.

        ‖J‖_F² = Σ_i ‖e_iᵀ J‖² ≈ D/P Σ_p ‖q_pᵀ J‖²

    q_1 … q_P are orthonormal, in a random direction of the D dimensions of h_t. The estimate has
    the right expectation (Hutchinson 1990), and is exact for P = D.

    Args:
        model: whose encoder is measured, without dropout.
        source: sequences of one length, no padding.
        num_probes: P, at most D.
    """
    model.eval()
    norms = [_squared_norms(model, sequence, num_probes).sqrt() for sequence in source]
    return torch.stack(norms).mean(0).flip(0)


def _squared_norms(
    model: Seq2Seq[Any], sequence: Int[Tensor, "S"], num_probes: int
) -> Float[Tensor, "S"]:
    """The sums over probes for one sequence, by position; each probe is a row of one batch."""
    rows = sequence.expand(num_probes, -1)  # P S
    embedded: list[Tensor] = []
    embedding = model.get_submodule("source.embedding")
    with embedding.register_forward_hook(lambda _, __, output: embedded.append(output)):
        memory = model.encode(rows, torch.ones_like(rows, dtype=torch.bool))
    last = memory.states[:, len(sequence) - 1]  # P D
    width = last.shape[-1]
    drawn = torch.randn(width, num_probes, generator=torch.Generator().manual_seed(SEED))
    probes = torch.linalg.qr(drawn).Q.T * math.sqrt(width / num_probes)  # P D
    (gradient,) = torch.autograd.grad((last * probes).sum(), embedded)
    return gradient.square().sum((0, 2))


def table(reaches: Sequence[Reach]) -> Grid:
    """g(d) / g(0) before and after training, at some distances."""
    rows = [
        (f"{reach.title}, {when}", *(f"{norms[d] / norms[0]:.1e}" for d in SHOWN))
        for reach in reaches
        for when, norms in (("untrained", reach.untrained), ("trained", reach.trained))
    ]
    return [("system", *(f"d = {d}" for d in SHOWN)), *rows]


def draw(reaches: Sequence[Reach], folder: Path) -> Path:
    """g(d) / g(0) as far as it is not 0, dotted before training, a line after."""
    path = folder / CHART
    with axes_of(path) as axes:
        for reach in reaches:
            for norms, style in ((reach.untrained, ":"), (reach.trained, "-")):
                points = [(float(d), norm / norms[0]) for d, norm in enumerate(norms) if norm]
                line(axes, reach.system, points, style)
        axes.set_yscale("log")
        axes.set(
            xlabel="tokens between input and state",
            ylabel="norm of the gradient, that of the nearest input = 1",
        )
    return path
