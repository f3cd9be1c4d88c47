"""Names beside a chart can all be read."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from regard.road.charts import axes_of, line, round_numbers
from regard.road.labels import spread

GAP = 0.1
heights = st.lists(st.floats(-10, 10), max_size=12)


@given(heights)
def test_places_keep_their_order_and_a_gap(wanted: list[float]) -> None:
    found = spread(wanted, GAP)
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    for below, above in pairwise(order):
        assert found[above] - found[below] >= GAP - 1e-9


@given(heights)
def test_all_together_they_are_moved_neither_up_nor_down(wanted: list[float]) -> None:
    assert sum(spread(wanted, GAP)) == pytest.approx(sum(wanted), abs=1e-6)


def test_what_is_apart_stays_where_it_is() -> None:
    assert spread([3.0, 1.0, 2.0], GAP) == pytest.approx([3.0, 1.0, 2.0])


def test_what_lies_together_is_spread_around_its_middle() -> None:
    assert spread([5.0, 1.0, 1.0, 1.0], GAP) == pytest.approx([5.0, 0.9, 1.0, 1.1])


def test_no_name_covers_another(tmp_path: Path) -> None:
    with axes_of(tmp_path / "chart.png") as axes:
        for number in range(12):
            line(axes, f"gru-{number}", [(1.0, 10.0), (2.0, 20.0 + number / 100)])
        line(axes, "lstm", [(1.0, 1.0), (2.0, 30.0)])
    # Of the letters alone, without the threads.
    boxes = sorted((Text.get_window_extent(text) for text in axes.texts), key=lambda box: box.y0)
    assert len(boxes) == 13
    assert all(below.y1 <= above.y0 for below, above in pairwise(boxes))


@given(st.lists(st.floats(1e3, 1e20), min_size=1, max_size=5))
def test_ticks_enclose_what_is_drawn(values: list[float]) -> None:
    ticks = round_numbers(values)
    assert ticks[0] < min(values) <= max(values) < ticks[-1]
    assert min(values) <= ticks[1] * (1 + 1e-9)
    assert max(values) >= ticks[-2] * (1 - 1e-9)
