"""The systems of the race: each is what its row says, and can be built."""

from pathlib import Path

import pytest

from regard.build import ARCHITECTURES
from regard.errors import ConfigError
from regard.road.charts import COLOURS, family_of
from regard.road.corpus import RaceCorpus
from regard.road.race import ABLATION, Budget, Race
from regard.road.systems import SYSTEMS, System, find_systems
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


def test_a_budget_of_operations_becomes_steps(tmp_path: Path) -> None:
    (system,) = find_systems(["transformer"])
    race = little_race(tmp_path, budget=Budget(flops=1e12))
    config = race.config(system)
    tokens = config.train.steps * config.train.batch_tokens
    spent = tokens * race.lengths.flops_per_token(config, len(race.tokenisers.target))
    assert spent == pytest.approx(1e12, rel=0.1)
    assert config.train.minutes == 0


def test_a_fine_tuning_brings_what_it_starts_from() -> None:
    assert [system.name for system in find_systems(["gnmt-rl"])] == ["gnmt", "gnmt-rl"]


def test_systems_keep_the_order_of_the_story() -> None:
    assert [s.name for s in find_systems(["transformer", "gru"])] == ["gru", "transformer"]


def test_an_unknown_system_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"--systems trasformer: .* did you mean transformer"):
        find_systems(["trasformer"])


def test_every_system_has_a_colour() -> None:
    assert {family_of(system.name) for system in SYSTEMS} == set(COLOURS)


def test_a_folder_without_a_pair_is_asked_about(tmp_path: Path) -> None:
    race: Race = little_race(tmp_path)
    with pytest.raises(Exception, match=r"en and fr; name source and target with --pair"):
        RaceCorpus.of(race.corpus.folder)
