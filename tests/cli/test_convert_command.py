"""`regard convert`, there and back."""

from pathlib import Path

import pytest

from regard.api import load
from regard.cli.convert import convert
from regard.cli.info import describe
from regard.errors import ConfigError, ModelFileError

TEXTS = ["Jane visite l'Afrique.", "le chat sur un tapis"]


def test_a_run_that_was_exported_and_imported_translates_as_before(
    run_folder: Path, tmp_path: Path
) -> None:
    convert(run_folder, tmp_path / "marian", to="marian")
    convert(tmp_path / "marian", tmp_path / "back", to="regard")
    options = {"max_ratio": 0.0, "max_extra": 6}
    before = load(run_folder, device="cpu").translate(TEXTS, **options)
    after = load(tmp_path / "back", device="cpu").translate(TEXTS, **options)
    assert [t.text for t in after] == [t.text for t in before]
    assert [t.score for t in after] == pytest.approx([t.score for t in before], abs=1e-5)


def test_an_imported_run_is_whole(run_folder: Path, tmp_path: Path) -> None:
    convert(run_folder, tmp_path / "marian", to="marian")
    convert(tmp_path / "marian", tmp_path / "back", to="regard")
    info = describe(tmp_path / "back")
    assert info.is_whole
    assert (info.source_language, info.target_language) == ("fr", "en")
    assert [checkpoint.name for checkpoint in info.checkpoints] == ["best-0"]


def test_a_marian_folder_becomes_ctranslate2s(run_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip(
        "ctranslate2", reason='CTranslate2 is not installed: pip install "regard[convert]"'
    )
    convert(run_folder, tmp_path / "marian", to="marian")
    convert(tmp_path / "marian", tmp_path / "ct2", to="ctranslate2")
    assert (tmp_path / "ct2" / "model.bin").is_file()


def test_the_number_of_parameters_is_told(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    convert(run_folder, tmp_path / "marian", to="marian", checkpoint="averaged")
    parameters = describe(run_folder).parameters
    assert capsys.readouterr().out == f"{tmp_path / 'marian'}: {parameters:,} parameters\n"


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"neither a run folder .* nor a Marian folder"):
        convert(tmp_path, tmp_path / "out", to="marian")


def test_a_marian_folder_has_no_checkpoints(run_folder: Path, tmp_path: Path) -> None:
    convert(run_folder, tmp_path / "marian", to="marian")
    with pytest.raises(ConfigError, match=r"--checkpoint best: .* is not a run folder"):
        convert(tmp_path / "marian", tmp_path / "out", to="regard", checkpoint="best")
