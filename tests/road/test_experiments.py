"""The experiments: what each varies, what it keeps, and that it goes on where it stopped."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from regard.build import open_run
from regard.cli.road_experiment import run_experiment
from regard.errors import ConfigError
from regard.road import systems
from regard.road.experiments import data, gradient, length
from regard.road.result import RESULT, RESULTS, TABLE
from regard.road.systems import SYSTEMS, System
from regard.road.terms import RUN, TOKENISER
from regard.text.pair import TokeniserPair
from tests.road.little_race import little_corpus, little_track

SHALLOW = {"encoder_layers": 1, "decoder_layers": 1}
TINY: dict[str, dict[str, Any]] = {
    "lstm": {"arch": "seq2seq", "cell": "lstm", "layers": 1},
    "bahdanau": {"arch": "bahdanau"},
    "convs2s": {"arch": "convs2s", **SHALLOW},
    "transformer": {"heads": 2, "d_ff": 16, **SHALLOW},
}


def tiny(system: System) -> System:
    """A system of the race with a small network, if it is one of those above."""
    if system.name not in TINY:
        return system
    return replace(system, settings={"model": {"d_model": 16, **TINY[system.name]}})


@pytest.fixture(autouse=True)
def small_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systems, "SYSTEMS", tuple(map(tiny, SYSTEMS)))


def test_a_part_of_the_corpus_is_contained_in_every_larger_one(tmp_path: Path) -> None:
    corpus = little_corpus(tmp_path)
    every = corpus.examples("train")
    sizes = data.sizes(len(every))
    assert sizes == [6, 12, 24, 48, 96, 192]
    before: list[object] = []
    for size in sizes:
        part = data.part_of(corpus, size, tmp_path / str(size))
        pairs = part.examples("train")
        assert len(pairs) == size
        assert pairs[: len(before)] == before
        assert [part.examples(s) for s in ("valid", "test")] == [
            corpus.examples(s) for s in ("valid", "test")
        ]
        before = list(pairs)
    assert before != every, "drawn, not cut off"
    assert sorted(map(str, before)) == sorted(map(str, every))


def test_data_changes_the_pairs_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "HALVINGS", 1)
    track = little_track(tmp_path / "out", little_corpus(tmp_path), "transformer")
    points = list(data.run(track))
    assert [point.pairs for point in points] == [96, 192]
    runs = [open_run(track.out / str(point.pairs) / "transformer" / RUN) for point in points]
    assert runs[0].config.model == runs[1].config.model
    assert runs[0].config.train == runs[1].config.train
    vocabulary = TokeniserPair.load(track.out / TOKENISER).fingerprint()
    assert {run.tokenisers.fingerprint() for run in runs} == {vocabulary}
    assert data.table(points)[0] == ("pairs", "Transformer, pre-norm")
    assert [row[0] for row in data.table(points)[1:]] == ["96", "192"]
    before = (track.out / "96" / "transformer" / RESULT).stat().st_mtime_ns
    assert list(data.run(track)) == points
    assert (track.out / "96" / "transformer" / RESULT).stat().st_mtime_ns == before


def test_a_cell_that_is_not_measured_yet_is_a_dash(tmp_path: Path) -> None:
    track = little_track(tmp_path / "out", little_corpus(tmp_path), "dictionary")
    first, *_ = data.run(track)
    other = replace(first, pairs=12, result=replace(first.result, title="Another"))
    assert [row[1:].count("–") for row in data.table([first, other])] == [0, 1, 1]


@pytest.mark.parametrize(
    ("name", "names", "farthest", "chart"),
    [
        ("length", ("lstm", "bahdanau"), "≤ 60 words", length.CHART),
        ("gradient", ("convs2s",), "d = 79", gradient.CHART),
    ],
    ids=["length", "gradient"],
)
def test_an_experiment_leaves_what_a_race_does_and_goes_on_from_it(
    name: str,
    names: tuple[str, ...],
    farthest: str,
    chart: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    track = little_track(tmp_path, None, *names)
    console = Console(file=io.StringIO())
    run_experiment(name, track, console, is_json=True)
    report = json.loads(capsys.readouterr().out)
    assert [point["system"] for point in report["results"]] == list(names)
    assert json.loads((tmp_path / RESULTS).read_text("utf-8")) == report
    heading, _, *rows = (tmp_path / TABLE).read_text("utf-8").splitlines()
    assert heading.endswith(f"| {farthest} |")
    assert {row.count("|") for row in rows} == {heading.count("|")}
    assert (tmp_path / chart).stat().st_size > 1000
    measured = [tmp_path / each / RESULT for each in names]
    before = [path.stat().st_mtime_ns for path in measured]
    run_experiment(name, track, console, is_json=False)
    assert json.loads((tmp_path / RESULTS).read_text("utf-8"))["results"] == report["results"]
    assert [path.stat().st_mtime_ns for path in measured] == before
    shown = capsys.readouterr().out
    assert all(system.title.split()[0] in shown for system in SYSTEMS if system.name in names)


def test_length_knows_the_lengths_of_its_own_text_only(tmp_path: Path) -> None:
    track = little_track(tmp_path / "out", little_corpus(tmp_path))
    with pytest.raises(ConfigError, match="leave out --corpus"):
        next(length.run(track))


def test_counts_have_no_gradient(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--systems dictionary: made of counts"):
        next(gradient.run(little_track(tmp_path, None, "dictionary")))


def test_a_gradient_needs_a_long_text(tmp_path: Path) -> None:
    track = little_track(tmp_path / "out", little_corpus(tmp_path), "transformer")
    with pytest.raises(ConfigError, match=r"test\.fr has \d+ tokens, .* needs 632"):
        next(gradient.run(track))
