"""Attention in a terminal or a log file: a small heat map, and words above their words."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.style import Style
from rich.text import Text

from regard.lens.colours import colour, ink
from regard.lens.labels import shorten
from regard.lens.words import Alignment
from regard.shapes import Float, Tensor

SHADES = " ░▒▓█"
# From which share of the largest weight on each shade but the first is used.
THRESHOLDS = (0.1, 0.3, 0.55, 0.8)
# Cells of a column that has a number for its name: two digits of a weight and a margin.
NARROW = 4
MAX_LABEL = 24
NOTHING = "·"


def show_heat_map(
    console: Console,
    weights: Float[Tensor, "T S"],
    rows: Sequence[str],
    columns: Sequence[str],
) -> None:
    """Print a matrix: what looked on the left, what was looked at on top."""
    console.print(HeatMap(weights, tuple(rows), tuple(columns)))


def show_alignment(console: Console, alignment: Alignment) -> None:
    """Print the source words, and below each the target words that came from it."""
    for number, line in enumerate(alignment_lines(alignment, console.width)):
        console.print(Text(line, style=("dim", "bold", "")[number % 3]), soft_wrap=True)


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A matrix as rich prints it; the deepest shade is its largest weight.

    Where colours show, a cell has a background and its weight in hundredths; elsewhere it is
    filled with block characters, which a log file keeps. Columns are named by their words if
    all of them fit side by side, else by numbers with the words listed below, and what is
    still too wide continues in another band.
    """

    weights: Float[Tensor, "T S"]
    rows: tuple[str, ...]
    columns: tuple[str, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        has_colour = not console.no_color and console.color_system in ("256", "truecolor")
        names = [shorten(row, MAX_LABEL) for row in self.rows]
        margin = max(map(cell_len, names), default=0) + 1
        room = max(options.max_width - margin, NARROW)
        headings = [shorten(column, MAX_LABEL) for column in self.columns]
        widths = [max(cell_len(heading) + 2, NARROW) for heading in headings]
        is_numbered = sum(widths) > room
        if is_numbered:
            headings = [str(number + 1) for number in range(len(headings))]
            widths = [max(len(headings[-1]) + 1, NARROW)] * len(headings)
        for first, end in pairwise(_bands(widths, room)):
            if first:
                yield Text()
            band = slice(first, end)
            yield self._line("", headings[band], widths[band], margin)
            for i, name in enumerate(names):
                cells = [self._cell(i, j, widths[j], has_colour) for j in range(first, end)]
                yield self._line(name, cells, widths[band], margin)
        if is_numbered:
            yield Text()
            yield from _legend(self.columns, options.max_width)

    def _line(
        self, name: str, cells: Sequence[str | Text], widths: Sequence[int], margin: int
    ) -> Text:
        line = Text(" " * (margin - 1 - cell_len(name)) + name + " ", no_wrap=True)
        for cell, width in zip(cells, widths, strict=True):
            line.append(_centred(cell, width) if isinstance(cell, str) else cell)
        if not line.spans:  # without a colour behind it, space at the end is nothing
            line.rstrip()
        return line

    def _cell(self, i: int, j: int, width: int, has_colour: bool) -> Text:
        weight = float(self.weights[i, j])
        share = weight / (float(self.weights.max()) or 1.0)
        if not has_colour:
            shade = SHADES[bisect_right(THRESHOLDS, share)]
            return Text(_centred(shade * (width - 1), width))
        hundredths = round(100 * weight)
        background = colour(share)
        paint = Style.parse(f"{ink(background)} on rgb({','.join(map(str, background))})")
        return Text(_centred(f"{hundredths:2}" if hundredths else "", width), style=paint)


def alignment_lines(alignment: Alignment, width: int = 80) -> list[str]:
    """The alignment as a gloss: source words, target words below, an empty line between bands.

    A source word with no target has · below it; target words that are not neighbours are
    joined by ….
    """
    targets: dict[int, list[int]] = {}
    for i, j in alignment.links:
        targets.setdefault(i, []).append(j)
    pairs = [
        (shorten(word, width - 1), shorten(_phrase(alignment, targets.get(i, [])), width - 1))
        for i, word in enumerate(alignment.source)
    ]
    widths = [max(cell_len(above), cell_len(below)) + 2 for above, below in pairs]
    lines: list[str] = []
    for first, end in pairwise(_bands(widths, width + 2)):
        lines += [""] if first else []
        for side in (0, 1):
            words = (_padded(pairs[i][side], widths[i]) for i in range(first, end))
            lines.append("".join(words).rstrip())
    return lines


def _phrase(alignment: Alignment, places: Sequence[int]) -> str:
    """The target words at some places, in order."""
    phrase = ""
    for before, place in zip([None, *sorted(places)], sorted(places), strict=False):
        between = "" if before is None else " " if place == before + 1 else " … "
        phrase += between + alignment.target[place]
    return phrase or NOTHING


def _bands(widths: Sequence[int], room: int) -> Iterator[int]:
    """Where to break a row of columns so that each band fits; first and last place included."""
    yield 0
    used = 0
    for place, width in enumerate(widths):
        if used and used + width > room:
            yield place
            used = 0
        used += width
    if widths:
        yield len(widths)


def _legend(columns: Sequence[str], width: int) -> Iterator[Text]:
    """The words behind the numbers, as many a line as fit."""
    entries = [f"{i + 1} {shorten(column, width - 8)}" for i, column in enumerate(columns)]
    widths = [cell_len(entry) + 2 for entry in entries]
    for first, end in pairwise(_bands(widths, width + 2)):
        yield Text("  ".join(entries[first:end]), style="dim", no_wrap=True)


def _centred(text: str, width: int) -> str:
    left = (width - cell_len(text)) // 2
    return _padded(" " * left + text, width)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))
