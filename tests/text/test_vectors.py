from pathlib import Path

import numpy as np
import pytest

from regard.errors import DataError
from regard.text.vectors import read_vectors


def test_only_the_wanted_words_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "some.vec"
    path.write_text("gare 1 2\nchat 3 4\nété 5 6\n", "utf-8")
    found = read_vectors(path, {"gare", "été", "absent"})
    assert set(found) == {"gare", "été"}
    np.testing.assert_array_equal(found["été"], np.array([5, 6], dtype=np.float32))


def test_a_first_line_of_count_and_width_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "some.vec"
    path.write_text("2 3\ngare 1 2 3\nchat 3 4 5\n", "utf-8")
    assert set(read_vectors(path, {"2", "gare"})) == {"gare"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("gare 1 2\nchat 3\n", "line 2 has 1 numbers, expected 2"),
        ("gare 1 x\n", "line 1: could not convert string to float: 'x'"),
        ("gare\n", "line 1 has 0 numbers"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "some.vec"
    path.write_text(content, "utf-8")
    with pytest.raises(DataError, match=message):
        read_vectors(path, {"gare"})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.vec: cannot be read \(No such file"):
        read_vectors(tmp_path / "absent.vec", set())
