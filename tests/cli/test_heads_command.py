"""`regard heads`, as it is typed."""

import json
from pathlib import Path

import pytest

from regard.api import load
from regard.cli.app import main
from regard.lens.forced import encode_pairs
from regard.lens.likelihood import forced_loss

PAIRS = [("Jane visite l'Afrique.", "Jane visits Africa."), ("le chat.", "the cat.")]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    options = []
    for side, option in enumerate(("--source", "--target")):
        path = tmp_path / f"side{side}.txt"
        path.write_text("".join(f"{pair[side]}\n" for pair in PAIRS), "utf-8")
        options += [option, str(path)]
    return options


def heads(run: Path, *options: str) -> int:
    return main(["heads", "--model", str(run), "--device", "cpu", *options])


def test_every_head_has_a_line(
    run_folder: Path, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert heads(run_folder, *files) == 0
    lines = capsys.readouterr().out.splitlines()
    headings = "kind layer head entropy distance offset diagonal cost"
    assert lines[0].split() == headings.split()
    assert sum(line.startswith(("encoder", "decoder", "cross")) for line in lines) == 3 * 2 * 3
    assert lines[-1].startswith("with all heads: loss ")


def test_json_has_the_statistics_and_costs_of_each_kind(
    run_folder: Path, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert heads(run_folder, *files, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pairs"] == len(PAIRS)
    for kind in ("encoder", "decoder", "cross"):
        for name in ("entropy", "distance", "offset", "diagonal", "cost"):
            assert [len(row) for row in found["kinds"][kind][name]] == [3, 3]
    translator = load(run_folder, device="cpu")
    pairs = encode_pairs(translator.tokenisers, *map(list, zip(*PAIRS, strict=True)))
    whole = forced_loss(translator.models[0], translator.tokenisers, pairs)
    assert found["whole"] == pytest.approx(whole, abs=1e-5)


def test_the_cost_may_be_bleu_or_none(
    run_folder: Path, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert heads(run_folder, *files, "--limit", "1", "--cost", "bleu") == 0
    assert "with all heads: BLEU" in capsys.readouterr().out
    assert heads(run_folder, *files, "--cost", "none", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert "whole" not in found and "cost" not in found["kinds"]["cross"]


def test_no_pairs_is_a_mistake(
    run_folder: Path, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert heads(run_folder, *files, "--limit", "0") == 2
    assert "--limit 0: expected at least 1 pair" in capsys.readouterr().err
