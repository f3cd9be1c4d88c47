"""`regard train`, as it is typed."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest
from safetensors.torch import load_file

from regard.build import build_trainer, open_run
from regard.cli.app import main
from regard.config import read_config, write_config
from regard.machine import fingerprint
from regard.models.transformer import PRESETS
from regard.sealed import verify
from tests.little_corpus import little_run
from tests.train.recording import equal

FEW = ["--set", "train.steps=3", "--set", "text.vocab_size=340", "--set", "train.device=cpu"]
QUICK = ["--set", "train.validate_bleu=false", "--set", "train.show=0", "--preset", "nano"]


def train(*arguments: str | Path) -> int:
    return main(["train", *map(str, arguments)])


@pytest.fixture
def run_file(tmp_path: Path, corpus: tuple[Path, Path]) -> Path:
    """A run file of four steps."""
    config = little_run(corpus, steps=4, validate_bleu=False, show=0, save_every=2, average=2)
    path = tmp_path / "mine.toml"
    path.write_text(write_config(config), "utf-8")
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def weights(folder: Path) -> Path:
    return folder / "weights.safetensors"


# ------------------------------------------------------------------------------ from files to a run


def test_two_files_make_a_run(
    tmp_path: Path, corpus: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert train("--source", "train.fr", "--target", "train.en", *FEW, *QUICK) == 0
    folder = tmp_path / "runs" / "train"
    assert names(folder) >= {"run.toml", "tokeniser", "manifest.json", "log.jsonl", "step-3"}
    config = open_run(folder).config
    assert config.train.steps == 3
    assert config.model == PRESETS["nano"]
    assert (config.data.source_language, config.data.target_language) == ("fr", "en")


def test_a_run_file_makes_a_run(
    tmp_path: Path,
    run_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert train("mine.toml", "--set", "train.seed=7") == 0
    folder = Path("runs/mine")
    assert names(folder) >= {"best-4", "averaged-4", "step-2", "step-4", "log.jsonl", "cache"}
    assert not list(folder.glob(".*"))
    expected = read_config(run_file)
    train_config = dataclasses.replace(expected.train, seed=7)
    assert open_run(folder).config == dataclasses.replace(expected, train=train_config)
    out, err = capsys.readouterr()
    assert out == ""
    assert "parameters, 180 pairs" in err and err.splitlines()[-1] == "done: runs/mine"
    lines = (folder / "log.jsonl").read_text("utf-8").splitlines()
    events = [json.loads(line)["event"] for line in lines]
    assert events == ["step"] * 4 + ["validation", "message"]


def test_tensorboard_events_are_written_when_asked_for(tmp_path: Path, run_file: Path) -> None:
    pytest.importorskip("tensorboard")
    out = tmp_path / "run"
    assert train(run_file, "--out", out, "--set", "train.tensorboard=true") == 0
    assert list((out / "tensorboard").glob("events.*"))


def test_an_existing_folder_is_refused_untouched(
    tmp_path: Path, run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    out.mkdir()
    assert train(run_file, "--out", out) == 2
    assert "exists already; --resume goes on with it, --out DIR starts another" in (
        capsys.readouterr().err
    )
    assert names(out) == set()


@pytest.mark.parametrize(
    "override", ['data.valid=["absent.fr", "absent.en"]', "train.max_length=1"]
)
def test_a_run_that_cannot_begin_leaves_no_folder(
    tmp_path: Path, run_file: Path, capsys: pytest.CaptureFixture[str], override: str
) -> None:
    out = tmp_path / "run"
    assert train(run_file, "--out", out, "--set", override) == 2
    assert not out.exists()
    assert capsys.readouterr().err.splitlines()[-1].startswith("regard: ")


def test_a_loss_that_is_not_finite_is_one_line(
    tmp_path: Path, run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    hot = ["--set", "train.learning_rate=1e30", "--set", "train.warmup=0", "--set", "train.clip=0"]
    assert train(run_file, "--out", out, *hot) == 2
    complaint = capsys.readouterr().err.splitlines()[-1]
    assert complaint.startswith("regard: step 2: the loss is ")
    assert complaint.endswith("lower train.learning_rate, or look at those pairs")


# ------------------------------------------------------------------------------ going on


def test_a_finished_run_resumed_changes_nothing(
    tmp_path: Path, run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    train(run_file, "--out", out)
    before = (names(out), (out / "log.jsonl").read_bytes())
    assert train("--resume", "--out", out) == 0
    assert (names(out), (out / "log.jsonl").read_bytes()) == before
    assert "resuming" in capsys.readouterr().err


def test_damage_is_told_when_resuming(
    tmp_path: Path, run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    train(run_file, "--out", out)
    whole = weights(out / "step-4").read_bytes()
    weights(out / "step-4").write_bytes(b"damaged")
    assert train("--resume", "--out", out) == 0
    err = capsys.readouterr().err
    assert "is damaged (SHA-256 differs from the manifest); continuing from step-2" in err
    assert weights(out / "step-4").read_bytes() == whole


@pytest.mark.parametrize(
    "change",
    [
        ["--set", "train.seed=3"],
        ["--set", "train.steps=9", "--set", "train.seed=3"],
        ["--set", "train.steps=many"],
        ["--preset", "nano"],
        ["--init-from", "other"],
        ["--set", "train.steps=9", "--preset", "nano"],
    ],
)
def test_what_a_run_began_with_cannot_change(
    copied_run: Path, capsys: pytest.CaptureFixture[str], change: list[str]
) -> None:
    assert train("--resume", "--out", copied_run, *change) == 2
    assert "it takes --set train.steps=N alone" in capsys.readouterr().err


@pytest.mark.parametrize("steps", ["3", "4"])
def test_fewer_steps_are_refused(
    tmp_path: Path, run_file: Path, capsys: pytest.CaptureFixture[str], steps: str
) -> None:
    out = tmp_path / "run"
    train(run_file, "--out", out)
    assert train("--resume", "--out", out, "--set", f"train.steps={steps}") == 2
    assert f"train.steps = {steps}: {out} already has 4; give more" in capsys.readouterr().err


def test_a_run_that_is_given_more_steps_is_the_longer_run(tmp_path: Path, run_file: Path) -> None:
    short, long = tmp_path / "short", tmp_path / "long"
    more = ["--set", "train.steps=8"]
    every = ["--set", "train.validate_every=4"]
    assert train(run_file, "--out", short, *every) == 0
    assert train("--resume", "--out", short, *more) == 0
    assert train(run_file, "--out", long, *every, *more) == 0
    assert names(short) == names(long) | {"extended-8"}
    for name in ("step-8", "averaged-8"):
        assert weights(short / name).read_bytes() == weights(long / name).read_bytes()
    assert open_run(short).config == open_run(long).config


def test_a_longer_run_goes_on_as_it_is(tmp_path: Path, run_file: Path) -> None:
    out = tmp_path / "run"
    train(run_file, "--out", out)
    assert train("--resume", "--out", out, "--set", "train.steps=6") == 0
    assert train("--resume", "--out", out) == 0
    assert train("--resume", "--out", out, "--set", "train.steps=8") == 0
    assert names(out) >= {"step-8", "extended-6", "extended-8"}


def test_a_schedule_that_depends_on_the_steps_is_told(
    tmp_path: Path, run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    train(run_file, "--out", out, "--set", "train.schedule=cosine")
    assert train("--resume", "--out", out, "--set", "train.steps=6") == 0
    assert "up to here the rate was that of 4 steps, from here it is that of 6" in (
        capsys.readouterr().err
    )


def test_another_machine_is_told_when_resuming_and_training_goes_on(
    tmp_path: Path,
    run_file: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "run"
    train(run_file, "--out", out)
    shutil.rmtree(out / "step-4")
    other = fingerprint() | {"threads": 64, "torch": "9.9"}
    monkeypatch.setattr("regard.train.checkpoint.fingerprint", lambda: other)
    capsys.readouterr()
    assert train("--resume", "--out", out) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "bit-exact" in line]
    was = fingerprint()
    assert told == [
        f"{out}/step-2: from here not bit-exact: threads was {was['threads']}, is 64; "
        f"torch was {was['torch']}, is 9.9"
    ]
    verify(out / "step-4")


def test_the_same_machine_is_not_told(
    tmp_path: Path, run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    train(run_file, "--out", out)
    train("--resume", "--out", out)
    assert "bit-exact" not in capsys.readouterr().err


def test_changed_data_is_refused_when_resuming(
    tmp_path: Path,
    run_file: Path,
    corpus: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "run"
    train(run_file, "--out", out)
    corpus[0].write_text(corpus[0].read_text("utf-8") + "encore.\n", "utf-8")
    assert train("--resume", "--out", out) == 2
    complaint = capsys.readouterr().err.splitlines()[-1]
    assert complaint.startswith(f"regard: {corpus[0]} is not the file that {out} began with")
    assert complaint.endswith("restore it, or start another run with --init-from")


def test_what_a_killed_process_left_of_the_run_folder_is_removed(
    tmp_path: Path, run_file: Path
) -> None:
    killed = subprocess.Popen([sys.executable, "-c", ""])
    killed.wait()
    leftover = tmp_path / "runs" / f".run.{killed.pid}.tmp"
    leftover.mkdir(parents=True)
    assert train(run_file, "--out", tmp_path / "runs" / "run") == 0
    assert os.listdir(tmp_path / "runs") == ["run"]


def test_a_new_run_begins_with_the_weights_of_another(tmp_path: Path, run_file: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    train(run_file, "--out", first)
    options = ["--set", "train.learning_rate=1e-30", "--set", "train.seed=99"]
    assert train(run_file, "--out", second, "--init-from", first, *options) == 0
    assert open_run(first).tokenisers.fingerprint() == open_run(second).tokenisers.fingerprint()
    best = next(first.glob("best-*"))
    averaged = next(first.glob("averaged-*"))
    found = load_file(weights(second / "step-4"))
    assert any(equal(found, load_file(weights(folder))) for folder in (best, averaged))


def test_another_s_weights_survive_a_kill_before_the_first_checkpoint(
    tmp_path: Path, run_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    train(run_file, "--out", first)

    def killed(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("regard.cli.train"), "run_training", killed)
    assert train(run_file, "--out", second, "--init-from", first) == 130
    assert [path.name for path in second.glob("step-*")] == ["step-0"]


def test_weights_that_do_not_fit_are_named_and_leave_no_folder(
    tmp_path: Path, run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    train(run_file, "--out", first)
    wider = ["--set", "model.d_model=48"]
    assert train(run_file, "--out", second, "--init-from", first, *wider) == 2
    assert "run.toml describes" in capsys.readouterr().err.splitlines()[-1]
    assert not second.exists()


# ------------------------------------------------------------------------------ signals

PROGRAM = "import sys; from regard.cli.app import main; sys.exit(main(sys.argv[1:]))"


def started(*arguments: str | Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "train", *map(str, arguments)],
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def wait_for_steps(log: Path) -> None:
    """Until a step is logged."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if log.exists() and '"step"' in log.read_text("utf-8"):
            return
        time.sleep(0.02)
    raise AssertionError("no step in a minute")


@pytest.fixture(params=[signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def stopped(
    tmp_path: Path, run_file: Path, request: pytest.FixtureRequest
) -> tuple[signal.Signals, "subprocess.Popen[str]", str, Path]:
    """A training that was sent a signal while it ran."""
    out = tmp_path / "run"
    with started(run_file, "--out", out, "--set", "train.steps=100000") as process:
        wait_for_steps(out / "log.jsonl")
        process.send_signal(request.param)
        _, err = process.communicate(timeout=60)
    return request.param, process, err, out


def test_a_signal_saves_and_exits_with_its_number(
    stopped: tuple[signal.Signals, "subprocess.Popen[str]", str, Path],
) -> None:
    number, process, err, out = stopped
    assert process.returncode == 128 + number
    steps = sorted(int(path.name.removeprefix("step-")) for path in out.glob("step-*"))
    assert err.splitlines()[-1] == f"stopped at step {steps[-1]:,}; --resume goes on from there"
    assert "Traceback" not in err
    verify(out / f"step-{steps[-1]}")
    last = json.loads((out / "log.jsonl").read_text("utf-8").splitlines()[-1])
    assert last["step"] == steps[-1]
    trainer = build_trainer(open_run(out))
    assert trainer.resume()
    assert trainer.progress.step == steps[-1]


def test_a_second_signal_stops_at_once(tmp_path: Path, run_file: Path) -> None:
    out = tmp_path / "run"
    # The first step after the first signal would take for ever.
    options = ["--set", "train.steps=9", "--set", "train.accumulate=1000000"]
    with started(run_file, "--out", out, *options) as process:
        deadline = time.monotonic() + 60
        while not (out / "log.jsonl").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert process.returncode == -signal.SIGTERM
    assert not list(out.glob("step-*"))
