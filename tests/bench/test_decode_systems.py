"""The rivals of the benchmark decode the same sentences with the same weights."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from decode_speed import Row, can_run, ratios
from decode_systems import (
    FIXED_LENGTH,
    RUN,
    SHORTLIST,
    SYSTEMS,
    VOCABULARY,
    Job,
    Settings,
    stage_random,
    stage_trained,
)
from regard.build import open_run
from regard.decoding.shortlist import Shortlist
from regard.models.transformer import PRESETS
from workers import Spread

NUM_SENTENCES = 5
VOCABULARY_SIZE = 300


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stage") / "nano"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(VOCABULARY, "nano", VOCABULARY_SIZE)
        assert "nano" in PRESETS
        stage_random("nano", NUM_SENTENCES, folder)
    size = VOCABULARY_SIZE
    every, none = np.arange(size), np.zeros(0, np.int64)
    fingerprint = open_run(folder / RUN).tokenisers.fingerprint()
    Shortlist(every, np.zeros(size + 1, np.int64), none, fingerprint).save(folder / SHORTLIST)
    return folder


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.filterwarnings("ignore")
def test_every_system_writes_as_many_tokens(stage: Path, system: str, beam: int) -> None:
    run = SYSTEMS[system].open(stage, beam, Settings(batch=2))
    tokens = run(Job.read(stage).sources)
    # Chance may end a sentence of a random model early.
    assert 0.6 * NUM_SENTENCES * FIXED_LENGTH <= tokens <= NUM_SENTENCES * FIXED_LENGTH


def test_a_trained_model_is_staged_for_those_who_can_read_it(
    trained_run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert open_run(trained_run).config.model.norm_place == "pre"  # type: ignore[attr-defined]
    (tmp_path / "new.fr").write_text("Jane visite l'Afrique en septembre.\n", "utf-8")
    stage = tmp_path / "stage"
    stage_trained(trained_run, tmp_path / "new.fr", stage, None)
    cannot = [name for name in SYSTEMS if not can_run(name, stage, "decode")]
    assert cannot == ["transformers", "transformers_alone"]
    assert len(Job.read(stage).sources) == 1
    assert not capfd.readouterr().out  # where JSON will stand


def test_one_sentence_at_a_time_transformers_is_measured_once(stage: Path) -> None:
    can = {mode: [n for n in SYSTEMS if can_run(n, stage, mode)] for mode in ("decode", "latency")}
    assert can["decode"] == list(SYSTEMS)
    assert can["latency"] == [name for name in SYSTEMS if name != "transformers_alone"]


def test_ratios_are_named_after_what_they_compare() -> None:
    def row(system: str, speed: float, p50: float | None = None) -> Row:
        spread = Spread(speed, speed, speed)
        mode = "decode" if p50 is None else "latency"
        settings = asdict(Settings())
        return Row("small", "beam4", mode, system, spread, spread, p50, p50, settings, 0)

    rows = [row("regard", 6.0), row("regard_int8", 9.0), row("ctranslate2", 3.0)]
    rows += [row("regard_shortlist", 12.0), row("ctranslate2_int8", 6.0)]
    rows += [row("regard", 1.0, 0.02), row("ctranslate2", 1.0, 0.03)]
    assert ratios(rows) == {
        "decode.small.beam4.ctranslate2": 2.0,
        "decode.small.beam4.ctranslate2_int8": 1.5,
        "decode.small.beam4.ctranslate2_int8.shortlist": 2.0,
        "latency.small.beam4.ctranslate2": 1.5,
    }
