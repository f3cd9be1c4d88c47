"""The systems of the race: each is what its row says, and can be built."""

from pathlib import Path

import pytest

from regard.build import ARCHITECTURES
from regard.errors import ConfigError
from regard.lens import published
from regard.models.gnmt import GNMTConfig
from regard.road.charts import COLOURS, colour_of, dash_of, family_of, mark_of
from regard.road.corpus import RaceCorpus
from regard.road.race import ABLATION, Race
from regard.road.systems import SYSTEMS, System, find_systems, with_bases
from regard.road.terms import Budget
from tests.road.little_race import little_race

LEARNED = [system for system in SYSTEMS if system.kind == "learned"]


def test_every_name_is_there_once() -> None:
    names = [system.name for system in SYSTEMS]
    assert len(set(names)) == len(names)


def test_every_architecture_takes_part(tmp_path: Path) -> None:
    race = little_race(tmp_path)
    assert {race.config(system).model.arch for system in LEARNED} == set(ARCHITECTURES)


@pytest.mark.parametrize("system", LEARNED, ids=lambda system: system.name)
def test_a_run_file_has_the_budget_and_the_corpus(system: System, tmp_path: Path) -> None:
    race = little_race(tmp_path, budget=Budget(minutes=30.0))
    config = race.config(system)
    assert config.train.minutes == (30.0 * ABLATION if system.is_ablation else 30.0)
    assert config.data == race.corpus.config()


def test_a_budget_of_operations_has_no_minutes(tmp_path: Path) -> None:
    (system,) = find_systems(["transformer"])
    config = little_race(tmp_path, budget=Budget(flops=1e12)).config(system)
    assert config.train.minutes == 0
    assert config.train.steps > 1


def test_a_name_is_that_system_alone() -> None:
    found = find_systems(["gnmt-rl", "bahdanau"])
    assert [system.name for system in found] == ["bahdanau", "gnmt-rl"]


@pytest.mark.parametrize("names", [["bahdanau", "gnmt-rl"], ["bahdanau", "gnmt", "gnmt-rl"]])
def test_a_fine_tuning_is_trained_after_what_it_starts_from(names: list[str]) -> None:
    trained = with_bases(find_systems(names))
    assert [system.name for system in trained] == ["bahdanau", "gnmt", "gnmt-rl"]


def test_the_reward_weighs_what_it_did_in_the_paper(tmp_path: Path) -> None:
    (system,) = find_systems(["gnmt-rl"])
    # α O_ML + O_RL with α = 0.017, both sums over sentences, as ours are.
    assert 0.017 * little_race(tmp_path).config(system).train.reward == pytest.approx(1.0)


def test_each_row_of_the_paper_is_one_system_s() -> None:
    raced = [system.published for system in SYSTEMS if system.published is not None]
    single = [row for row in published.TABLE if not row.system.endswith(("ensemble", "big"))]
    assert sorted(map(str, raced)) == sorted(map(str, single))


def test_the_paper_s_mixture_of_experts_is_recurrent(tmp_path: Path) -> None:
    (system,) = [system for system in SYSTEMS if system.published == published.MOE]
    model = little_race(tmp_path).config(system).model
    assert isinstance(model, GNMTConfig)
    assert model.experts > 1


def test_systems_keep_the_order_of_the_story() -> None:
    assert [s.name for s in find_systems(["transformer", "gru"])] == ["gru", "transformer"]


def test_an_unknown_system_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"--systems trasformer: .* did you mean transformer"):
        find_systems(["trasformer"])


def test_every_system_has_a_colour() -> None:
    names = [*(system.name for system in SYSTEMS), "gru+lstm"]
    assert {family_of(name) for name in names} == set(COLOURS)


def test_no_two_systems_of_a_family_look_alike() -> None:
    looks = [(colour_of(s.name), mark_of(s.name), dash_of(s.name)) for s in SYSTEMS]
    assert len(set(looks)) == len(looks)


def test_a_folder_without_a_pair_is_asked_about(tmp_path: Path) -> None:
    race: Race = little_race(tmp_path)
    with pytest.raises(Exception, match=r"en and fr; name source and target with --pair"):
        RaceCorpus.of(race.corpus.folder)
