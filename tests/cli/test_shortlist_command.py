"""`regard shortlist`, and what `regard translate` does with it and with workers."""

from pathlib import Path

import pytest

from regard.api import load
from regard.cli.app import main
from regard.decoding.shortlist import Shortlist

SENTENCES = ["Jane visite l'Afrique en septembre.", "elle aime la gare ici.", "Mon ami voit."]


@pytest.fixture(scope="module")
def listed(trained_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shortlist") / "pieces"
    options = ["--best", "5", "--frequent", "20"]
    assert main(["shortlist", str(trained_run), "--out", str(path), *options]) == 0
    return path


def lines(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    assert main(["translate", *arguments]) == 0, capsys.readouterr().err
    return capsys.readouterr().out.splitlines()


def test_a_translation_uses_candidates_only(trained_run: Path, listed: Path) -> None:
    model = load(trained_run, device="cpu", shortlist=listed)
    shortlist = Shortlist.load(listed)
    for translation in model.translate(SENTENCES):
        (sentence,) = translation.sentences
        allowed = set(shortlist.of([*sentence.source.ids, model.tokenisers.source.eos]).tolist())
        assert set(sentence.best.target.ids) <= allowed


def test_the_command_takes_a_shortlist(
    trained_run: Path, listed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in SENTENCES), "utf-8")
    options = ["--model", str(trained_run), "--shortlist", str(listed), "--device", "cpu"]
    found = lines([*options, "--file", str(tmp_path / "text")], capsys)
    model = load(trained_run, device="cpu", shortlist=listed)
    assert found == [translation.text for translation in model.translate(SENTENCES)]


@pytest.mark.parametrize("others", [[], ["--int8"]])
def test_workers_answer_in_order_what_one_answers(
    trained_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], others: list[str]
) -> None:
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in SENTENCES * 5), "utf-8")
    options = ["--model", str(trained_run), "--file", str(tmp_path / "text"), "--device", "cpu"]
    found = [lines([*options, *others, "--workers", n], capsys) for n in ("1", "2")]
    assert found[0] == found[1]
    assert len(found[0]) == 15


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["shortlist", "RUN", "--out", "x", "--source", "y"], "--source and --target go together"),
        (["shortlist", "RUN", "--out", "x", "--best", "0"], "expected 1 or more of each"),
        (["translate", "--model", "RUN", "--shortlist", "absent", "x"], "absent"),
        (["translate", "--model", "RUN", "--workers", "0", "x"], "--workers 0: expected 1 or more"),
    ],
)
def test_a_mistake_is_answered_in_one_line(
    trained_run: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main([str(trained_run) if word == "RUN" else word for word in arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith("regard: ") and err.count("\n") == 1
    assert message in err
