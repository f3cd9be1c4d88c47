"""`regard train`: from two text files to a trained model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from rich.console import Console

    from regard.build import Run
    from regard.config import RunConfig
    from regard.text.pair import TokeniserPair
    from regard.train.trainer import Trainer


def train(
    run_file: Path | None = None,
    /,
    *,
    source: Path | None = None,
    target: Path | None = None,
    set_: Annotated[tuple[str, ...], Parameter(name="--set", negative=())] = (),
    out: Path | None = None,
    preset: str | None = None,
    resume: Annotated[bool, Parameter(negative=())] = False,
    init_from: Path | None = None,
) -> int:
    """Train a model, as a run file says, or on two parallel files with good defaults.

    The run folder receives the resolved run file, the tokeniser, the checkpoints and log.jsonl.
    SIGINT or SIGTERM finishes the step, saves and exits with 128 + the signal's number;
    `--resume` goes on from there, bit for bit. All that may change then is the number of steps,
    with `--set train.steps=N`.

    Args:
        run_file: a run file; `regard new` writes one to start from.
        source: a file of source sentences, one a line, instead of a run file.
        target: their translations, line by line.
        set_: change a setting, as table.key=value; may be given again.
        out: the run folder; runs/NAME unless given.
        preset: size of the Transformer instead of the run file's: nano, tiny, small, base, big.
        resume: go on with the run folder where it stopped.
        init_from: start from the weights and the tokeniser of another run folder.
    """
    import shutil

    from rich.console import Console

    from regard.build import build_trainer, create_run, extend_run, open_run
    from regard.errors import RegardError
    from regard.machine import tune_allocator

    tune_allocator()
    console = Console(stderr=True)
    if resume:
        folder = out or _default_folder(run_file, source)
        steps = _more_steps(set_, preset, init_from)
        run = open_run(folder)
        if steps is not None:
            _tell_of_schedule(console, run, steps)
            run = extend_run(run, steps)
        trainer = build_trainer(run)
        if trainer.resume(lambda line: say(console, line)):
            say(console, f"resuming {folder} at step {trainer.progress.step:,}")
        return run_training(run, trainer, console)
    config = _config(run_file, source, target, set_, preset)
    folder = out or _default_folder(run_file, source)
    _refuse_existing(folder)
    say(console, f"reading {', '.join(config.data.train)}")
    run = create_run(folder, config, _tokenisers_of(init_from))
    try:
        trainer = build_trainer(run)
        if init_from is not None:
            _initialise(trainer, init_from)
    except RegardError:
        # What could not begin leaves nothing that a second attempt would stumble over.
        shutil.rmtree(folder)
        raise
    return run_training(run, trainer, console)


def run_training(run: "Run", trainer: "Trainer", console: "Console") -> int:
    """Train with a live display and a log; return the exit code."""
    from regard.train.console import ConsoleObserver, announce
    from regard.train.observer import JsonLog, TensorBoard
    from regard.train.signals import stopping_politely

    config, step = run.config.train, trainer.progress.step
    announce(console, run.folder, trainer)
    log = JsonLog(run.folder / "log.jsonl", step)
    trainer.observers.append(log)
    board = TensorBoard(run.folder / "tensorboard", step) if config.tensorboard else None
    if board is not None:
        trainer.observers.append(board)
    try:
        with ConsoleObserver(console, config, trainer.progress) as display:
            trainer.observers.append(display)
            with stopping_politely(trainer.stop) as received:
                trainer.train()
    finally:
        log.close()
        if board is not None:
            board.close()
    if received:
        say(console, f"stopped at step {trainer.progress.step:,}; --resume goes on from there")
        return 128 + received[0]
    say(console, f"done: {run.folder}")
    return 0


def say(console: "Console", line: str) -> None:
    """Print a line as it is, on one line however narrow the terminal is."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def _config(
    run_file: Path | None,
    source: Path | None,
    target: Path | None,
    overrides: tuple[str, ...],
    preset: str | None,
) -> "RunConfig":
    import dataclasses

    from regard.config import read_config, with_overrides
    from regard.defaults import config_for_files
    from regard.errors import ConfigError
    from regard.models.transformer import PRESETS

    if preset is not None and preset not in PRESETS:
        raise ConfigError(f"--preset {preset}: known are {', '.join(PRESETS)}")
    if run_file is not None:
        if source or target:
            raise ConfigError("a run file and --source/--target exclude one another; give one")
        config = read_config(run_file)
    elif source and target:
        config = config_for_files(source, target)
    else:
        raise ConfigError("nothing to train on; give a run file, or --source and --target")
    if preset is not None:
        config = dataclasses.replace(config, model=PRESETS[preset])
    return with_overrides(config, overrides)


def _default_folder(run_file: Path | None, source: Path | None) -> Path:
    from regard.errors import ConfigError

    named = run_file or source
    if named is None:
        raise ConfigError("which run folder? give --out DIR")
    return Path("runs") / named.stem


def _refuse_existing(folder: Path) -> None:
    from regard.errors import ConfigError

    if folder.exists():
        raise ConfigError(
            f"{folder} exists already; --resume goes on with it, --out DIR starts another"
        )


def _more_steps(
    overrides: tuple[str, ...], preset: str | None, init_from: Path | None
) -> int | None:
    """The one thing that may change when a run goes on: how many steps it has."""
    import re

    from regard.errors import ConfigError

    if not (overrides or preset or init_from):
        return None
    steps = re.fullmatch(r"\s*train\.steps\s*=\s*([\d_]+)\s*", " ".join(overrides))
    if steps is None or preset or init_from:
        raise ConfigError(
            "--resume goes on exactly as the run began: of --set, --preset and --init-from it "
            "takes --set train.steps=N alone; to change more start another run with --init-from"
        )
    return int(steps[1])


def _tell_of_schedule(console: "Console", run: "Run", steps: int) -> None:
    """Where a longer run is not what it would have been, had it been longer from the start."""
    train = run.config.train
    if train.schedule == "cosine":
        say(
            console,
            f"train.schedule = cosine depends on train.steps: up to here the rate was that of "
            f"{train.steps:,} steps, from here it is that of {steps:,}",
        )


def _tokenisers_of(init_from: Path | None) -> "TokeniserPair | None":
    from regard.build import open_run

    return open_run(init_from).tokenisers if init_from is not None else None


def _initialise(trainer: "Trainer", init_from: Path) -> None:
    from regard.build import open_run
    from regard.loading import choose_checkpoint

    trainer.start_from(choose_checkpoint(open_run(init_from)))
