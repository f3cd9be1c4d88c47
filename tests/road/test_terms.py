"""A folder holds one race: whatever differs is refused, and what is the same goes on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from regard.data.joined import joined
from regard.errors import ConfigError, ModelFileError
from regard.road import terms as terms_module
from regard.road.experiments import length
from regard.road.race import Race
from regard.road.result import RESULT, RESULTS
from regard.road.systems import find_systems
from regard.road.terms import RACE, RUN, TOKENISER, Budget, Terms, agree, sustained_gflops
from tests.road.little_race import little_race, little_track

DICTIONARY, SYSTEM = find_systems(["dictionary", "transformer"])
TERMS = Terms(
    task="phrasebook, fr → en",
    corpus={"generator": "phrasebook", "size": 9600},
    pair="fr-en",
    budget=Budget(minutes=0.25),
    settings={"train": {"ema": 0.98}},
    sentence=None,
)


@pytest.fixture(autouse=True)
def speeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is slower each time it is asked."""
    found = iter([50.0, 40.0, 30.0])
    monkeypatch.setattr(terms_module, "processor", lambda: "Here")
    monkeypatch.setattr(terms_module, "sustained_gflops", lambda: next(found))


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"corpus": {"generator": "phrasebook", "size": 48}}, "corpus.size is 9600, here 48"),
        ({"corpus": {"train.fr": "5" * 64}}, "corpus.generator is phrasebook, here not set"),
        ({"pair": "en-fr"}, "pair is fr-en, here en-fr"),
        ({"budget": Budget(minutes=30.0)}, "budget.minutes is 0.25, here 30"),
        ({"budget": Budget(minutes=0.25, flops=1e15)}, "budget.flops is 0, here 1e+15"),
        ({"settings": {"train": {"ema": 0.9}}}, "settings.train.ema is 0.98, here 0.9"),
        ({"settings": {}}, "settings.train.ema is 0.98, here not set"),
        ({"sentence": "Où ?"}, "sentence is not set, here Où ?"),
    ],
)
def test_other_terms_are_refused(change: dict[str, Any], difference: str, tmp_path: Path) -> None:
    agree(tmp_path, TERMS)
    kept = (tmp_path / RACE).read_text("utf-8")
    with pytest.raises(ConfigError) as refused:
        agree(tmp_path, replace(TERMS, **change))
    assert str(refused.value) == (
        f"{tmp_path} is a race on phrasebook, fr → en, where {difference}; give another --out"
    )
    assert (tmp_path / RACE).read_text("utf-8") == kept


def test_a_checksum_is_cut_short_for_people(tmp_path: Path) -> None:
    agree(tmp_path, replace(TERMS, corpus={"train.fr": "5" * 64}))
    with pytest.raises(ConfigError, match=r"where corpus\.train\.fr is 5{12}…, here 7{12}…; give"):
        agree(tmp_path, replace(TERMS, corpus={"train.fr": "7" * 64}))


def test_the_machine_is_measured_when_a_race_begins_and_then_no_more(tmp_path: Path) -> None:
    first = agree(tmp_path, TERMS)
    assert first == replace(TERMS, machines={"Here": 50.0})
    assert agree(tmp_path, TERMS) == first
    # The corpus may have been moved in the meantime.
    assert agree(tmp_path, replace(TERMS, task="elsewhere, fr → en")) == first


def test_a_race_may_move_to_another_machine_which_is_measured_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agree(tmp_path, TERMS)
    monkeypatch.setattr(terms_module, "processor", lambda: "There")
    moved = agree(tmp_path, TERMS)
    assert moved == replace(TERMS, machines={"Here": 50.0, "There": 40.0})
    assert agree(tmp_path, TERMS) == moved


@pytest.mark.parametrize("trace", [RESULTS, TOKENISER, f"gru/{RESULT}", f"gru/{RUN}"])
def test_a_race_that_does_not_say_what_on_is_refused(trace: str, tmp_path: Path) -> None:
    (tmp_path / trace).mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"is a race, but has no race\.json .* another --out"):
        agree(tmp_path, TERMS)


def test_an_experiment_beside_it_is_no_trace_of_a_race(tmp_path: Path) -> None:
    (tmp_path / "length" / "gru" / RUN).mkdir(parents=True)
    agree(tmp_path, TERMS)


def test_damaged_terms_are_named(tmp_path: Path) -> None:
    (tmp_path / RACE).write_text("{}", "utf-8")
    with pytest.raises(ModelFileError, match=r"race\.json: Field required; .* another --out"):
        agree(tmp_path, TERMS)


def test_whatever_is_taken_from_a_folder_is_this_race_s(tmp_path: Path) -> None:
    little_race(tmp_path).hold()

    def another() -> Race:
        return little_race(tmp_path, budget=Budget(minutes=2e-6))

    for take in (
        lambda: another().enter(DICTIONARY),
        lambda: another().ensemble("one", []),
        lambda: another().run_of(SYSTEM),
        lambda: another().tokenisers,
    ):
        with pytest.raises(ConfigError, match=r"budget\.minutes is 1e-06, here 2e-06"):
            take()


def test_the_text_of_a_corpus_is_among_its_terms(tmp_path: Path) -> None:
    race = little_race(tmp_path)
    race.hold()
    test = race.corpus.files("test")[1]
    test.write_text(test.read_text("utf-8").lower(), "utf-8")
    with pytest.raises(ConfigError, match=r"corpus\.test\.en is [0-9a-f]{12}…, here "):
        little_race(tmp_path).hold()


def test_generated_text_of_another_size_is_another_corpus(tmp_path: Path) -> None:
    track = little_track(tmp_path, None, "dictionary")
    train, _ = track.race_on(joined).corpus.files("train")
    written = train.read_text("utf-8")
    with pytest.raises(ConfigError, match=r"on joined, fr → en, where corpus\.size is 2400"):
        next(length.run(replace(track, size=3600)))
    assert train.read_text("utf-8") == written
    track.race_on(joined)


def test_a_machine_sustains_what_its_fastest_product_does(monkeypatch: pytest.MonkeyPatch) -> None:
    speeds = {False: 40.0, True: 50.0}

    def measured(*, prepare: object = None, **_: float) -> float:
        return speeds[prepare is not None]

    monkeypatch.setattr(terms_module, "gemm_gflops", measured)
    monkeypatch.setattr(terms_module, "has_float_products", lambda: True)
    assert sustained_gflops() == 50.0
    monkeypatch.setattr(terms_module, "has_float_products", lambda: False)
    assert sustained_gflops() == 40.0
