"""What a race found out is read as it was written, or refused in one line."""

from dataclasses import replace
from pathlib import Path

import pytest

from regard.errors import ModelFileError
from regard.road.corpus import RaceCorpus
from regard.road.result import RESULTS, TABLE, keep, read_report, read_result
from tests.road.little_report import (
    TASK,
    keep_little_report,
    little_result,
    little_results,
)


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    keep_little_report(tmp_path)
    report = read_report(tmp_path)
    assert report == read_report(tmp_path / RESULTS)
    assert (report.task, report.results) == (TASK, little_results())
    assert {path.name for path in tmp_path.iterdir()} == {RESULTS, TABLE}


def test_a_table_that_cannot_be_written_leaves_the_one_before(tmp_path: Path) -> None:
    keep_little_report(tmp_path)
    before = (tmp_path / TABLE).read_text("utf-8")
    with pytest.raises(UnicodeEncodeError):
        keep(little_results(), "| half a letter: \ud83d |", tmp_path, TASK)
    assert (tmp_path / TABLE).read_text("utf-8") == before


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    (result, _) = little_results()
    result.save(tmp_path)
    assert read_result(tmp_path) == result


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"task"', '"job"', "Field required"),
        ('"bleu": 20.0', '"bleu": NaN', "expected finite numbers"),
        ('"Jane",\n', "", "the alignment needs a row a word"),
        ("{", "", "Invalid JSON"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    keep_little_report(tmp_path)
    text = (tmp_path / RESULTS).read_text("utf-8")
    (tmp_path / RESULTS).write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(ModelFileError, match=rf"results\.json: .*{message}.*regard road"):
        read_report(tmp_path)


def test_without_results_there_is_no_report(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"results\.json: not found"):
        read_report(tmp_path)


def test_an_alignment_has_the_shape_of_its_words() -> None:
    with pytest.raises(ValueError, match="a row a word"):
        replace(little_result("gru", 1.0, ()), alignment=((1.0, 0.0, 0.0),))


def test_a_task_is_named_after_its_corpus(tmp_path: Path) -> None:
    assert RaceCorpus(tmp_path / "multi30k", "en", "de").title == "multi30k, en → de"
