"""A race: what it measures, what it keeps, and that it goes on where it stopped."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from regard.data.corpus import Example
from regard.errors import ModelFileError
from regard.road.charts import draw, draw_alignments
from regard.road.measure import by_length, scorer_for
from regard.road.race import RUN, Budget, Race, Stopped, curve_of
from regard.road.result import RESULT, Result, read_result
from regard.road.systems import System
from regard.road.table import COLUMNS, markdown, rows, terminal_table
from regard.train.console import ConsoleObserver
from regard.train.observer import StepReport
from regard.train.trainer import Trainer
from tests.road.little_race import little_race
from tests.train.recording import Recorder

MODEL = {"d_model": 16, "heads": 2, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1}
TINY = System(name="tiny", title="A tiny Transformer", settings={"model": MODEL})
OTHER = System(name="other", title="Another", settings={"model": MODEL, "train": {"seed": 2}})
GRU = System(name="gru", title="A tiny GRU", settings={"model": {"arch": "seq2seq", "cell": "gru"}})
DICTIONARY = System(name="dictionary", title="A dictionary", kind="dictionary")


@pytest.fixture(scope="module")
def raced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Race, list[Result]]:
    race = little_race(tmp_path_factory.mktemp("raced"))
    return race, [race.enter(system) for system in (DICTIONARY, GRU, TINY)]


def test_a_learned_system_is_trained_and_measured(raced: tuple[Race, list[Result]]) -> None:
    result = raced[1][2]
    assert (result.system, result.steps) == ("tiny", 1)
    assert result.low <= result.high
    assert result.parameters > 1000
    assert result.flops > 0 and result.flops_by_time > 0
    assert len(result.curve) == 1
    assert len(result.alignment) == len(result.words)
    assert {len(row) for row in result.alignment} <= {len(result.source_words)}


def test_a_system_without_attention_has_no_alignment(raced: tuple[Race, list[Result]]) -> None:
    assert raced[1][1].alignment == ()


def test_a_dictionary_says_which_word_it_translated(raced: tuple[Race, list[Result]]) -> None:
    result = raced[1][0]
    assert result.source_words == ("Jane", "visite", "la", "gare", ".")
    assert [sum(row) for row in result.alignment] == [1.0] * len(result.words)
    assert result.bleu > 20


def test_what_is_measured_is_not_measured_again(raced: tuple[Race, list[Result]]) -> None:
    race, results = raced
    path = race.out / "tiny" / RESULT
    before = path.stat().st_mtime_ns
    assert race.enter(TINY) == results[2]
    assert path.stat().st_mtime_ns == before


def test_members_of_an_ensemble_vote(raced: tuple[Race, list[Result]]) -> None:
    race, results = raced
    found = race.ensemble("tiny+other", [TINY, OTHER])
    assert found.parameters == 2 * results[2].parameters
    assert found == race.ensemble("tiny+other", [TINY, OTHER])


def test_a_stopped_race_goes_on_as_if_it_never_had(tmp_path: Path) -> None:
    steps = Budget(flops=2e8)
    whole = little_race(tmp_path, budget=steps, out="whole")
    unbroken = whole.enter(TINY)
    broken = little_race(tmp_path, budget=steps, out="broken")
    num_steps = broken.config(TINY).train.steps
    assert num_steps > 4, "enough to stop in the middle"
    _stop_after(broken, 3)
    with pytest.raises(Stopped) as stopped:
        broken.enter(TINY)
    assert stopped.value.number == signal.SIGINT
    assert read_result(broken.out / "tiny") is None
    resumed = little_race(tmp_path, budget=steps, out="broken").enter(TINY)
    assert resumed.steps == unbroken.steps == num_steps
    assert resumed.bleu == unbroken.bleu
    assert resumed.alignment == unbroken.alignment
    losses = [[point.loss for point in result.curve] for result in (resumed, unbroken)]
    assert losses[0] == losses[1]


def _stop_after(race: Race, step: int) -> None:
    """Let SIGINT come after a step."""
    display = race.display

    def with_an_impatient_person(trainer: Trainer) -> ConsoleObserver:
        trainer.observers.append(Impatient(stop_after=step))
        return display(trainer)

    race.display = with_an_impatient_person


class Impatient(Recorder):
    def on_step(self, report: StepReport) -> None:
        if report.step == self.stop_after:
            os.kill(os.getpid(), signal.SIGINT)


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    (tmp_path / RESULT).write_text('{"system": 3}', "utf-8")
    with pytest.raises(ModelFileError, match=r"result\.json: .*remove it"):
        read_result(tmp_path)


def test_the_minutes_of_a_curve_are_those_of_the_steps_before_it(
    raced: tuple[Race, list[Result]],
) -> None:
    race, results = raced
    assert curve_of(race.out / "tiny" / RUN / "log.jsonl") == results[2].curve
    assert results[2].curve[0].minutes == pytest.approx(results[2].minutes)


def test_bleu_by_length_counts_every_sentence_once() -> None:
    test = [Example(" ".join(["mot"] * (n % 30 + 1)), "a b c d e") for n in range(600)]
    found = by_length(test, ["a b c d e"] * 600, scorer_for("en"))
    assert sum(point.sentences for point in found) == 600
    assert [point.bleu for point in found] == pytest.approx([100.0] * len(found))


def test_a_table_has_a_row_for_each_system(raced: tuple[Race, list[Result]]) -> None:
    _, results = raced
    known = replace(results[2], system="transformer")
    assert all(len(row) == len(COLUMNS) for row in rows([*results, known]))
    assert rows([known])[0][-3:] == ("27.3", "38.1", "3.3 · 10¹⁸")
    assert markdown(results).count("\n") == len(results) + 2
    assert terminal_table(results).row_count == len(results)


def test_pictures_are_drawn(raced: tuple[Race, list[Result]], tmp_path: Path) -> None:
    _, results = raced
    paths = [*draw(results, tmp_path), *draw_alignments(results, tmp_path)]
    assert [path.name for path in paths] == [
        "bleu-flops.png",
        "bleu-length.png",
        "learning-curves.png",
        "alignment-dictionary.png",
        "alignment-tiny.png",
    ]
    assert all(path.stat().st_size > 1000 for path in paths)
