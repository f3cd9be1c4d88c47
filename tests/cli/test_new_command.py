"""`regard new`, as it is typed."""

from pathlib import Path

import pytest

from regard.cli.app import main
from regard.config import MODELS, RunConfig, parse_config, read_config
from regard.models.transformer import PRESETS


@pytest.mark.parametrize("preset", PRESETS)
def test_the_run_file_is_the_preset_with_all_defaults(tmp_path: Path, preset: str) -> None:
    path = tmp_path / "mine.toml"
    assert main(["new", str(path), "--preset", preset]) == 0
    assert read_config(path) == RunConfig(model=PRESETS[preset])


@pytest.mark.parametrize("arch", MODELS)
def test_every_architecture_has_a_run_file(capsys: pytest.CaptureFixture[str], arch: str) -> None:
    assert main(["new", "-", "--arch", arch]) == 0
    assert parse_config(capsys.readouterr().out, "-").model.arch == arch


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "huge"], "--preset huge: known are nano, tiny, small, base, big"),
        (["--arch", "transfomer"], "model.arch = 'transfomer'; did you mean transformer?"),
        (["--arch", "luong", "--preset", "base"], "--preset base: only a transformer has presets"),
    ],
)
def test_a_wrong_name_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["new", "-", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_dash_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "-"]) == 0
    printed = capsys.readouterr().out
    assert parse_config(printed, "-").model == PRESETS["tiny"]


def test_what_to_do_next_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.toml"
    main(["new", str(path)])
    assert capsys.readouterr().out == f"{path}: set data.train, then `regard train {path}`\n"


def test_force_overwrites(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("precious", "utf-8")
    assert main(["new", str(path)]) == 2
    assert path.read_text("utf-8") == "precious"
    assert main(["new", str(path), "--force"]) == 0
    assert read_config(path) == RunConfig(model=PRESETS["tiny"])
