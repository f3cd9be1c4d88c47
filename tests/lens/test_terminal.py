"""Attention in a terminal and in a log file."""

import io
import re
from typing import Literal

import pytest
import torch
from rich.cells import cell_len
from rich.console import Console

from regard.lens.terminal import SHADES, alignment_lines, show_alignment, show_heat_map
from regard.lens.words import Alignment
from regard.shapes import Tensor

ROWS = ["Jane", "visits", "Africa", "in", "September", "."]
COLUMNS = ["Jane", "visite", "l'", "Afrique", "en", "septembre", "."]
LINKS = ((0, 0), (1, 1), (3, 2), (4, 3), (5, 4), (6, 5))

Colours = Literal["truecolor", "256", "standard"] | None


def printed(
    weights: Tensor,
    rows: list[str],
    columns: list[str],
    colours: Colours = None,
    *,
    width: int = 80,
    no_color: bool = False,
) -> str:
    file = io.StringIO()
    console = Console(
        file=file,
        width=width,
        color_system=colours,
        force_terminal=colours is not None,
        no_color=no_color,
        legacy_windows=False,
    )
    show_heat_map(console, weights, rows, columns)
    return file.getvalue()


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


@pytest.mark.parametrize("colours", [None, "truecolor", "256", "standard"])
@pytest.mark.parametrize("num_columns", [1, 7, 30, 120])
def test_eighty_columns_hold_every_word(colours: Colours, num_columns: int) -> None:
    columns = [f"{COLUMNS[i % 6]}{i}" for i in range(num_columns)]
    shown = plain(printed(torch.rand(6, num_columns), ROWS, columns, colours))
    assert all(cell_len(line) <= 80 for line in shown.splitlines())
    assert set(ROWS) | set(columns) <= set(shown.split())


def test_a_short_sentence_has_its_words_on_top() -> None:
    first = printed(torch.eye(6, 7), ROWS, COLUMNS).splitlines()[0]
    assert first.split() == COLUMNS


def test_without_colour_the_shade_says_how_much() -> None:
    weights = torch.tensor([[0.0, 0.2, 0.4, 0.6, 1.0]])
    (_, line) = printed(weights, ["word"], list("abcde")).splitlines()
    assert line == "word " + " ".join(shade * 3 for shade in SHADES)


def test_the_deepest_shade_is_the_largest_weight() -> None:
    halves = printed(torch.tensor([[0.0, 0.5]]), ["word"], ["a", "b"])
    assert halves == printed(torch.tensor([[0.0, 1.0]]), ["word"], ["a", "b"])


def test_a_log_has_no_escape_codes() -> None:
    assert "\x1b" not in printed(torch.eye(6, 7), ROWS, COLUMNS)


@pytest.mark.parametrize("colours", ["truecolor", "256"])
def test_with_colour_a_cell_has_a_background_and_hundredths(colours: Colours) -> None:
    shown = printed(torch.tensor([[0.07, 0.93]]), ["word"], ["a", "b"], colours)
    assert "\x1b[38;" in shown and ";48;" in shown
    assert plain(shown).splitlines()[1].split() == ["word", "7", "93"]


def test_where_colours_are_unwanted_blocks_are_drawn() -> None:
    assert "█" in printed(torch.eye(2), ["a", "b"], ["a", "b"], "truecolor", no_color=True)


def test_weights_of_zero_divide_nothing() -> None:
    assert "word" in printed(torch.zeros(1, 2), ["word"], ["a", "b"])


@pytest.mark.parametrize(("rows", "columns"), [([], ["a"]), (["a"], []), ([], [])])
def test_an_empty_matrix_is_no_error(rows: list[str], columns: list[str]) -> None:
    printed(torch.zeros(len(rows), len(columns)), rows, columns)


@pytest.mark.parametrize("width", [1, 10, 30])
def test_a_narrow_terminal_is_no_error(width: int) -> None:
    assert printed(torch.eye(6, 7), ROWS, COLUMNS, width=width)


def test_a_word_cannot_steer_the_terminal() -> None:
    assert "\x1b" not in printed(torch.ones(1, 1), ["\x1b[31mred"], ["\x1b]0;title\x07"])


def test_markup_in_a_word_is_text() -> None:
    assert "[bold]" in printed(torch.ones(1, 1), ["[bold]"], ["a"])


def test_an_alignment_puts_words_below_words() -> None:
    assert alignment_lines(Alignment(tuple(COLUMNS), tuple(ROWS), LINKS)) == [
        "Jane  visite  l'  Afrique  en  septembre  .",
        "Jane  visits  ·   Africa   in  September  .",
    ]


def test_words_that_are_no_neighbours_are_joined_by_an_ellipsis() -> None:
    alignment = Alignment(("ne", "sait"), ("does", "not", "know"), ((0, 0), (0, 2), (1, 1)))
    assert alignment_lines(alignment)[1].split("  ")[0] == "does … know"


def test_neighbours_are_joined_by_a_space() -> None:
    alignment = Alignment(("septembre",), ("this", "September"), ((0, 1), (0, 0)))
    assert alignment_lines(alignment)[1] == "this September"


@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_long_alignment_continues_in_bands_that_fit(width: int) -> None:
    words = tuple(f"word{i}" for i in range(50))
    lines = alignment_lines(Alignment(words, words, tuple((i, i) for i in range(50))), width)
    assert all(len(line) <= width for line in lines)
    assert lines[0::3] == lines[1::3]
    assert " ".join(lines[0::3]).split() == list(words)


def test_the_printed_alignment_is_its_lines() -> None:
    alignment = Alignment(tuple(COLUMNS), tuple(ROWS), LINKS)
    file = io.StringIO()
    show_alignment(Console(file=file, width=80), alignment)
    assert file.getvalue().splitlines() == alignment_lines(alignment)
