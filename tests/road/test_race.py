"""A race: what it measures, what it keeps, and that it goes on where it stopped."""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from regard.data.corpus import Example
from regard.errors import ConfigError, ModelFileError
from regard.models.flops import reward_flops, training_flops
from regard.road import systems
from regard.road.charts import draw, draw_alignments
from regard.road.measure import by_length, scorer_for
from regard.road.race import TRANSLATIONS, Race, Stopped, curve_of
from regard.road.result import RESULT, Result, read_result
from regard.road.systems import System
from regard.road.table import COLUMNS, machines, markdown, one_sentence, rows, terminal_table
from regard.road.terms import RUN, Budget
from regard.statistical.system import train_system
from regard.train.console import ConsoleObserver
from regard.train.observer import StepReport
from regard.train.trainer import Trainer
from tests.road.little_race import little_race
from tests.train.recording import Recorder

MODEL = {"d_model": 16, "heads": 2, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1}
TINY = System(name="tiny", title="A tiny Transformer", settings={"model": MODEL})
OTHER = System(name="other", title="Another", settings={"model": MODEL, "train": {"seed": 2}})
GRU = System(name="gru", title="A tiny GRU", settings={"model": {"arch": "seq2seq", "cell": "gru"}})
BASE = System(
    name="base",
    title="A tiny GNMT",
    settings={
        "model": {"arch": "gnmt", "d_model": 16, "layers": 2},
        "train": {"validate_every": 100, "save_every": 100},
    },
)
TUNED = System(
    name="tuned",
    title="The same, tuned",
    settings={
        "model": BASE.settings["model"],
        "train": {**BASE.settings["train"], "reward": 2.0, "reward_samples": 3},
    },
    starts_from="base",
)
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
    assert result.flops > 0
    sustained = raced[0].hold().machines[result.processor]
    assert result.flops_by_time == 60 * result.minutes * sustained * 1e9 > 0
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


@pytest.fixture(scope="module")
def tuned(raced: tuple[Race, list[Result]]) -> list[Result]:
    return [raced[0].enter(system) for system in (BASE, TUNED)]


def test_a_fine_tuning_costs_what_it_starts_from_and_what_it_draws(
    raced: tuple[Race, list[Result]], tuned: list[Result]
) -> None:
    race, (base, result) = raced[0], tuned
    own = curve_of(race.out / "tuned" / RUN / "log.jsonl")
    assert result.minutes == pytest.approx(base.minutes + own[-1].minutes)
    assert [point.minutes for point in result.curve] == pytest.approx([result.minutes])
    config, vocabulary = race.config(TUNED), len(race.tokenisers.target)
    pairs = race.epoch(config.train).pairs
    learned = training_flops(config.model, vocabulary, pairs)
    drawn = reward_flops(config.model, vocabulary, pairs, num_samples=3)
    # Both have taken one step, from the same batch.
    assert result.flops == pytest.approx(base.flops * (2 + drawn / learned))


def test_a_base_neither_votes_uncalled_nor_is_paid_twice(
    raced: tuple[Race, list[Result]], tuned: list[Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(systems, "SYSTEMS", (TINY, BASE, TUNED))
    race, (base, result) = raced[0], tuned
    alone = race.ensemble("tiny+tuned", [TINY, TUNED])
    assert alone.title == "Ensemble of tiny, tuned"
    assert alone.parameters == raced[1][2].parameters + result.parameters
    assert alone.flops == raced[1][2].flops + result.flops
    both = race.ensemble("base+tuned", [BASE, TUNED])
    assert (both.flops, both.minutes) == (result.flops, result.minutes)
    assert both.parameters == base.parameters + result.parameters


@pytest.mark.parametrize("system", [TINY, TUNED], ids=lambda system: system.name)
def test_a_budget_of_operations_is_spent(system: System, tmp_path: Path) -> None:
    budget = Budget(flops=1e9)
    race = little_race(tmp_path, budget=budget)
    base = race.enter(BASE).flops if system.starts_from else 0.0
    result = race.enter(system)
    assert result.steps >= 4, "enough for a mean"
    assert result.flops - base == pytest.approx(budget.flops, rel=0.5 / result.steps + 0.05)


def test_minutes_are_those_at_work_and_outlive_a_stop_before_the_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*given: Any) -> Any:
        started = time.process_time()
        while time.process_time() < started + 0.1:
            pass
        time.sleep(2)  # another program's turn, which is not counted
        return train_system(*given)

    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("regard.road.race.train_system", slow)
        patched.setattr("regard.road.race.measure", stopped)
        with pytest.raises(KeyboardInterrupt):
            little_race(tmp_path).enter(DICTIONARY)
    assert 0.1 / 60 <= little_race(tmp_path).enter(DICTIONARY).minutes < 2 / 60


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


def test_a_training_is_not_continued_with_other_settings(tmp_path: Path) -> None:
    race = little_race(tmp_path)
    _stop_after(race, 1)
    with pytest.raises(Stopped):
        race.enter(TINY)
    other = replace(TINY, settings={**TINY.settings, "train": {"clip": 0.5}})
    with pytest.raises(
        ConfigError, match=r"other settings than tiny has now, .* give another --out"
    ):
        little_race(tmp_path).enter(other)
    assert little_race(tmp_path).enter(TINY).steps == 1


def test_what_was_scored_is_kept(raced: tuple[Race, list[Result]]) -> None:
    race, results = raced
    for result in results:
        translated = (race.out / result.system / TRANSLATIONS).read_text("utf-8").splitlines()
        references = [example.target for example in race.corpus.examples("test")]
        assert scorer_for("en").score(translated, references).value == result.bleu


def test_a_kill_while_the_vocabulary_is_written_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(**_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("regard.text.pair._Index", killed)
        with pytest.raises(KeyboardInterrupt):
            _ = little_race(tmp_path).tokenisers
    assert len(little_race(tmp_path).tokenisers.target) == 340


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


def test_what_is_longer_than_the_last_border_is_a_group_too() -> None:
    test = [Example(" ".join(["mot"] * n), "a b c d e") for n in (59, 61, 70) for _ in range(10)]
    found = by_length(test, ["a b c d e"] * 30, scorer_for("en"))
    assert [(point.longest, point.sentences) for point in found] == [(60, 10), (70, 20)]


def test_a_table_has_a_row_for_each_system(raced: tuple[Race, list[Result]]) -> None:
    _, results = raced
    known = replace(results[2], system="transformer")
    assert all(len(row) == len(COLUMNS) for row in rows([*results, known]))
    assert rows([known])[0][-3:] == ("27.3", "38.1", "3.3 · 10¹⁸")
    assert markdown(results).count("\n") == 2 * (len(results) + 2) + 1
    assert terminal_table(results).row_count == len(results)


def test_a_table_says_what_was_trained_where_if_a_race_moved(
    raced: tuple[Race, list[Result]],
) -> None:
    _, results = raced
    here, there = results[0].processor, "Another, family 26"
    moved = [*results[:2], replace(results[2], processor=there)]
    note = (
        f"Trained on {here}: dictionary, gru; on {there}: tiny. "
        "Minutes do not compare between processors, FLOPs by formula do."
    )
    assert f"\n\n{note}\n\n" in markdown(moved)
    assert terminal_table(moved).caption == note
    assert machines(results) == ""


def test_a_page_shows_what_each_system_made_of_the_sentence(
    raced: tuple[Race, list[Result]],
) -> None:
    _, results = raced
    piped = replace(results[1], title="Piped", translation="a | b")
    lines = one_sentence([results[0], piped]).splitlines()
    assert lines[0] == "|  | Jane visite la gare. |"
    assert lines[2:] == [
        f"| {results[0].title} | {results[0].translation} |",
        r"| Piped | a \| b |",
    ]
    assert one_sentence([]) == ""


def _width(picture: Path) -> int:
    return int.from_bytes(picture.read_bytes()[16:20])  # of a PNG's header


def test_pictures_are_drawn(raced: tuple[Race, list[Result]], tmp_path: Path) -> None:
    _, results = raced
    single = _width(draw(results, tmp_path)[0])
    varied = replace(results[2], system="heads-1", alignment=())
    paths = [*draw([*results, varied], tmp_path), *draw_alignments(results, tmp_path)]
    assert _width(paths[0]) > single, "ablations have a panel of their own"
    assert [path.name for path in paths] == [
        "bleu-flops.png",
        "bleu-length.png",
        "learning-curves.png",
        "alignment-dictionary.png",
        "alignment-tiny.png",
    ]
    assert all(path.stat().st_size > 1000 for path in paths)
