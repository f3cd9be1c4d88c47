"""Pictures of attention as PNG or SVG files, drawn by matplotlib."""

import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import ConfigError
from regard.lens.colours import RAMP, colour, ink
from regard.lens.labels import visible
from regard.lens.picture import weights_of
from regard.lens.record import AttentionRecord, Kind
from regard.shapes import Float, Tensor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")
DOTS_PER_INCH = 200
TEXT, QUIET, FAINT = "#1b2233", "#6b7487", "#a7b1c4"

# In inches and points. Maps larger than MAX_SIDE shrink, cells and letters alike.
CELL, MAX_SIDE = 0.56, 13.0
LETTERS = 15.0
# Beyond this many cells numbers in them only clutter; a scale stands beside them instead.
MAX_NUMBERED = 150
# Weights below this are written faintly, so that the others are seen first.
NOTABLE = 0.1

# matplotlib's own font has Latin, Greek, Cyrillic, Arabic and Hebrew; for other scripts, those
# of the usual systems that are installed.
FONT = "DejaVu Sans"
OTHER_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans CJK KR",
    "Noto Sans Devanagari",
    "PingFang SC",
    "Hiragino Sans",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Nirmala UI",
    "Arial Unicode MS",
)


def require_plot(path: Path) -> None:
    """Check that a picture of this name can be made, before the work for it begins.

    Raises:
        ConfigError: matplotlib is missing, or the suffix is not one that can be drawn.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{path}: expected a name that ends in {' or '.join(SUFFIXES)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ConfigError(f"{path} needs matplotlib; pip install 'regard[plot]'") from None


def heat_map(
    weights: Float[Tensor, "T S"],
    rows: Sequence[str],
    columns: Sequence[str],
    path: Path,
    title: str = "",
) -> None:
    """Draw one matrix: what looked on the left, what was looked at on top.

    The deepest colour is the largest weight of the matrix. The file's suffix says whether it
    becomes a PNG or an SVG.

    Raises:
        ConfigError: see `require_plot`; or the file cannot be written.
    """
    assert weights.shape == (len(rows), len(columns)), "a name for each row and column"
    require_plot(path)
    with _style():
        from matplotlib.figure import Figure

        side = min(CELL, MAX_SIDE / max(*weights.shape, 1))
        letters = LETTERS * side / CELL
        longest = max((_width(label, letters) for label in columns), default=0.0)
        # Words lie flat over cells as wide as they are, or climb over square ones.
        width = max(side, longest + 0.3 * side)
        is_flat = width * len(columns) <= MAX_SIDE
        size = (width if is_flat else side) * max(len(columns), 1), side * max(len(rows), 1)
        figure = Figure(figsize=size)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        largest = float(weights.max()) if weights.numel() else 0.0
        if weights.numel():
            mesh = axes.pcolormesh(
                weights.numpy(),
                cmap=_colours(),
                vmin=0.0,
                vmax=largest or 1.0,
                edgecolors="white",
                linewidth=3.0 * side / CELL,
            )
            if weights.numel() > MAX_NUMBERED:
                _add_scale(figure, mesh, size, letters)
        axes.set(xlim=(0, max(len(columns), 1)), ylim=(max(len(rows), 1), 0))
        if weights.numel() <= MAX_NUMBERED:
            _number_cells(axes, weights, largest or 1.0, letters)
        _name_rows(axes, rows, letters)
        _name_columns(axes, columns, letters, is_flat)
        climb = letters / 72 if is_flat else 0.75 * longest
        if title:
            _write(
                axes, title, (0.0, 0.0), (1.0, 72 * climb + 18), LETTERS, "left", "bottom", "bold"
            )
        _save(figure, path)


def all_heads(record: AttentionRecord, kind: Kind, path: Path) -> None:
    """Draw every layer and head of a kind as a grid of thumbnails, pieces by pieces.

    The deepest colour is 1 in all of them, so that they can be compared.

    Raises:
        ConfigError: see `require_plot`; or the model has no attention of that kind.
    """
    weights = weights_of(record, kind)
    require_plot(path)
    num_layers, num_heads, num_rows, num_columns = weights.shape
    width = 1.25
    height = min(max(width * num_rows / num_columns, width / 2), width * 2)
    with _style():
        from matplotlib.figure import Figure

        gap = 0.08
        figure = Figure(figsize=((width + gap) * num_heads, (height + gap) * num_layers))
        grid = figure.add_gridspec(
            num_layers,
            num_heads,
            left=0,
            right=1,
            bottom=0,
            top=1,
            wspace=gap / width,
            hspace=gap / height,
        )
        for layer in range(num_layers):
            for head in range(num_heads):
                axes = figure.add_subplot(grid[layer, head])
                axes.imshow(
                    weights[layer, head].numpy(), cmap=_colours(), vmin=0, vmax=1, aspect="auto"
                )
                axes.set(xticks=(), yticks=())
                axes.spines[:].set(color="#c8d0de", linewidth=0.6)
                if layer == 0:
                    axes.set_title(f"head {head + 1}", fontsize=10, color=QUIET, pad=6)
                if head == 0:
                    axes.set_ylabel(f"layer {layer + 1}", fontsize=10, color=QUIET, labelpad=6)
        rows, columns = record.axes(kind)
        line = int(12 * figure.get_figwidth())  # characters that fit under the grid
        names = f"{_folded('rows', rows, line)}\n{_folded('columns', columns, line)}"
        below = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        below.set_axis_off()
        _write(below, names, (0.0, 0.0), (0.0, -10.0), 9.0, "left", "top", colour=QUIET)
        _save(figure, path)


# --------------------------------------------------------------------------------------------------
# Parts of a picture
# --------------------------------------------------------------------------------------------------


def _number_cells(
    axes: "Axes", weights: Float[Tensor, "T S"], largest: float, letters: float
) -> None:
    """Write each weight into its cell, without the zero before the point."""
    for i, row in enumerate(weights.tolist()):
        for j, weight in enumerate(row):
            number = f"{weight:.2f}".removeprefix("0")
            if number == ".00":
                continue
            is_most = weight == max(row)
            is_notable = is_most or weight >= NOTABLE
            _write(
                axes,
                number,
                (j + 0.5, i + 0.5),
                (0.0, 0.0),
                0.8 * letters,
                "center",
                "center_baseline",
                "bold" if is_most else "normal",
                colour=ink(colour(weight / largest)) if is_notable else FAINT,
            )


def _name_rows(axes: "Axes", rows: Sequence[str], letters: float) -> None:
    for i, label in enumerate(rows):
        _write(
            axes, label, (0.0, i + 0.5), (-0.6 * letters, 0.0), letters, "right", "center_baseline"
        )


def _name_columns(axes: "Axes", columns: Sequence[str], letters: float, is_flat: bool) -> None:
    for j, label in enumerate(columns):
        offset = (0.0 if is_flat else -0.2 * letters, 0.6 * letters)
        alignment = "center" if is_flat else "left"
        rotation = 0.0 if is_flat else 45.0
        _write(
            axes, label, (j + 0.5, 0.0), offset, letters, alignment, "baseline", rotation=rotation
        )


def _write(
    axes: "Axes",
    text: str,
    place: tuple[float, float],
    offset: tuple[float, float],
    letters: float,
    horizontal: str,
    vertical: str,
    weight: str = "normal",
    *,
    colour: str = TEXT,
    rotation: float = 0.0,
) -> None:
    """Text at a place of the axes, moved by an offset in points, and never read as a formula."""
    axes.annotate(
        "\n".join(map(visible, text.split("\n"))),
        place,
        offset,
        textcoords="offset points",
        fontsize=letters,
        fontweight=weight,
        color=colour,
        ha=horizontal,
        va=vertical,
        rotation=rotation,
        rotation_mode="anchor",
        annotation_clip=False,
        parse_math=False,
    )


def _add_scale(
    figure: "Figure", mesh: "QuadMesh", size: tuple[float, float], letters: float
) -> None:
    """A thin scale to the right of the map."""
    width, height = size
    length = min(height, 4.0)
    place = (1 + 0.25 / width, 1 - length / height, 0.14 / width, length / height)
    scale = figure.colorbar(mesh, cax=figure.add_axes(place))
    scale.outline.set_visible(False)
    scale.ax.tick_params(length=0, labelsize=max(0.8 * letters, 8), labelcolor=QUIET)


def _folded(name: str, labels: Sequence[str], line: int) -> str:
    return textwrap.fill(f"{name}: {' '.join(labels)}", max(line, 40))


# --------------------------------------------------------------------------------------------------
# matplotlib
# --------------------------------------------------------------------------------------------------


@contextmanager
def _style() -> Iterator[None]:
    """Our fonts and a reproducible file, for as long as a picture is drawn."""
    import matplotlib as mpl
    from matplotlib.font_manager import fontManager

    installed = set(fontManager.get_font_names())
    settings: Any = {
        "font.family": [FONT, *(name for name in OTHER_FONTS if name in installed)],
        # Words stay words in an SVG: they can be searched, and take the reader's fonts.
        "svg.fonttype": "none",
        # Names inside an SVG are hashes; with a fixed salt the same picture is the same file.
        "svg.hashsalt": "regard",
    }
    with mpl.rc_context(settings), warnings.catch_warnings():
        # A script that no installed font has is drawn as boxes. The picture is still right, and
        # a warning a character would bury what the user asked for.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font", module="")
        yield


def _colours() -> "Colormap":
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("regard", RAMP)


def _width(label: str, letters: float) -> float:
    """The width of a label in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=letters)
    width, _, _ = text_to_path.get_text_width_height_descent(visible(label), font, ismath=False)
    return float(width) / 72


def _save(figure: "Figure", path: Path) -> None:
    is_svg = path.suffix.lower() == ".svg"
    try:
        figure.savefig(
            path,
            dpi=DOTS_PER_INCH,
            facecolor="white",
            bbox_inches="tight",
            pad_inches=0.3,
            metadata={"Date": None} if is_svg else None,
        )
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror})") from None
