"""Is one vector enough for a long sentence? BLEU by length, far beyond the lengths of training.

Without attention everything a decoder knows of the source is the encoder's last state, however long
the sentence; Cho et al. 2014 ("On the properties of neural machine translation", section 5) saw
BLEU fall with length, and Bahdanau et al. 2015 (figure 2) saw attention prevent it. Here systems
learn from sources of up to 20 words and translate sources of up to 60.

The corpus is `data.joined`, sentences of the phrasebook one after the other, because there a long
sentence differs from a short one in length only. The toys would not do: to copy or reverse 60
symbols is to count positions and little else, where no attention could go by what a word means; and
a corpus of real text has other words and harder grammar in its long sentences.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.data.joined import LEARNED, joined
from regard.errors import ConfigError
from regard.road.charts import INK, axes_of, by_length
from regard.road.labels import FONT_SIZE
from regard.road.result import Result
from regard.road.table import NONE, Grid
from regard.road.track import Track

SYSTEMS = ("gru", "lstm", "bahdanau", "transformer")
CHART = "bleu-beyond-training.png"


def run(track: Track) -> Iterator[Result]:
    """Race the systems; `Result.by_length` is the answer.

    Raises:
        ConfigError: a corpus is given.
        Stopped: a signal came.
    """
    if track.corpus is not None:
        raise ConfigError(
            "--experiment length writes sentences whose lengths it knows; leave out --corpus"
        )
    systems = track.systems(SYSTEMS)
    race = track.race_on(joined)
    for system in systems:
        result = track.attempt(race, system)
        if result is not None:
            yield result


def table(results: Sequence[Result]) -> Grid:
    """A row for each system, a column for each group of lengths."""
    borders = sorted({point.longest for result in results for point in result.by_length})
    rows = []
    for result in results:
        bleu = {point.longest: f"{point.bleu:.1f}" for point in result.by_length}
        rows.append((result.title, *(bleu.get(border, NONE) for border in borders)))
    return [("system", *(f"≤ {border} words" for border in borders)), *rows]


def draw(results: Sequence[Result], folder: Path) -> Path:
    """The race's picture of lengths, with a mark where training ended."""
    path = folder / CHART
    with axes_of(path) as axes:
        by_length(axes, results)
        axes.axvline(LEARNED, color=INK, linewidth=0.8, linestyle=":")
        axes.annotate(
            "longest in training",
            (LEARNED, 0.02),
            (4, 0),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            fontsize=FONT_SIZE,
            color=INK,
        )
    return path
