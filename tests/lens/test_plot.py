"""Pictures are written, can be opened, and survive every word."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from PIL import Image

from regard.errors import ConfigError
from regard.lens.plot import all_heads, heat_map
from regard.lens.record import AttentionRecord

ROWS = ["Jane", "visits", "Africa", "in", "September", "."]
COLUMNS = ["Jane", "visite", "l'", "Afrique", "en", "été", "."]
WEIGHTS = torch.eye(6, 7)


def draw(path: Path, rows: list[str], columns: list[str]) -> None:
    heat_map(torch.rand(len(rows), len(columns)), rows, columns, path, "title")


def texts(path: Path) -> list[str]:
    root = ElementTree.parse(path).getroot()
    return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


def test_a_png_has_a_sensible_size(tmp_path: Path) -> None:
    path = tmp_path / "map.png"
    heat_map(WEIGHTS, ROWS, COLUMNS, path)
    with Image.open(path) as image:
        image.verify()
        assert image.format == "PNG"
        assert 800 < image.width < 4000 and 400 < image.height < 3000


def test_an_svg_holds_every_word_as_text(tmp_path: Path) -> None:
    path = tmp_path / "map.svg"
    heat_map(WEIGHTS, ROWS, COLUMNS, path, title="Où?")
    assert {*ROWS, *COLUMNS, "Où?", "1.00"} <= set(texts(path))


def test_the_same_picture_is_the_same_file(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        heat_map(WEIGHTS, ROWS, COLUMNS, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize("size", [1, 40, 200])
def test_any_size_fits_a_page(tmp_path: Path, size: int) -> None:
    path = tmp_path / "map.png"
    draw(path, [f"word{i}" for i in range(size)], [f"mot{i}" for i in range(size)])
    with Image.open(path) as image:
        assert 0 < image.width < 4000 and 0 < image.height < 4000


@pytest.mark.parametrize("suffix", [".png", ".svg"])
@pytest.mark.parametrize(
    "word",
    ["猫", "مرحبا", "שלום", "नमस्ते", "😀", "$x_$", "\\frac{", "<b>&", "\ud800", "\x1b[31m", ""],
)
def test_any_word_can_be_drawn_without_a_warning(tmp_path: Path, word: str, suffix: str) -> None:
    path = tmp_path / f"map{suffix}"
    draw(path, [word, "b"], ["a", word])
    assert path.stat().st_size > 1000


def test_a_translation_of_no_words_can_be_drawn(tmp_path: Path) -> None:
    path = tmp_path / "map.png"
    draw(path, [], COLUMNS)
    assert path.exists()


def test_no_state_of_matplotlib_is_changed(tmp_path: Path) -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    heat_map(WEIGHTS, ROWS, COLUMNS, tmp_path / "map.png")
    assert dict(mpl.rcParams) == before


def test_the_grid_names_every_layer_and_head(tmp_path: Path) -> None:
    path = tmp_path / "heads.svg"
    weights = torch.rand(2, 3, 6, 7)
    all_heads(AttentionRecord(tuple(COLUMNS), tuple(ROWS), {"cross": weights}), "cross", path)
    assert {"layer 1", "layer 2", "head 1", "head 2", "head 3"} <= set(texts(path))


def test_a_long_sentence_does_not_widen_the_grid(tmp_path: Path) -> None:
    widths = []
    for count in (5, 300):
        path = tmp_path / f"{count}.png"
        words = tuple(f"word{i}" for i in range(count))
        record = AttentionRecord(words, words, {"cross": torch.rand(1, 4, count, count)})
        all_heads(record, "cross", path)
        with Image.open(path) as image:
            widths.append(image.width)
    assert widths[1] < 1.2 * widths[0]


@pytest.mark.parametrize("name", ["map.gif", "map", "map.png.txt"])
def test_an_unknown_suffix_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"expected a name that ends in \.png or \.svg"):
        heat_map(WEIGHTS, ROWS, COLUMNS, tmp_path / name)


def test_a_missing_matplotlib_is_said_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigError, match=r"needs matplotlib; pip install 'regard\[plot\]'"):
        heat_map(WEIGHTS, ROWS, COLUMNS, tmp_path / "map.png")
