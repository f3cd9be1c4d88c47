"""`regard verify-resume`: whether a resumed training equals an unbroken one, here and now."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from rich.progress import Progress

    from regard.config import RunConfig
    from regard.train.observer import Shown, StepReport
    from regard.train.progress import Scores
    from regard.train.witness import Account, Difference


def verify_resume(
    run_file: Path,
    /,
    *,
    steps: Annotated[int, Parameter(validator=Number(gte=1))] = 50,
    set_: Annotated[tuple[str, ...], Parameter(name="--set", negative=())] = (),
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Train a run file's model unbroken, and stopped and resumed, and compare bit for bit.

    The resumed part runs in a process of its own. Nothing is kept. Exits with 1 if the two differ,
    and says where they part.

    Args:
        run_file: whose model, data and settings are used, except for how long it trains and how
            often it validates and saves.
        steps: before the interruption, and as many after it.
        set_: change a setting, as table.key=value; may be given again.
        as_json: print one JSON object instead of a table.
    """
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    from regard.config import read_config, with_overrides

    config = shortened(with_overrides(read_config(run_file), set_), steps)
    columns = *Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        unbroken, resumed = train_both(config, steps, Bar(progress, 4 * steps))
    differences = unbroken.differences(resumed)
    if as_json:
        _print_json(config, steps, unbroken, differences)
    else:
        _show(run_file, config, steps, unbroken, differences)
    return int(bool(differences))


def shortened(config: "RunConfig", steps: int) -> "RunConfig":
    """The same run, so short that both of its halves still validate and save.

    The interruption falls between two checkpoints, where the steps suffice. BLEU is left out
    where it decides nothing: translating is slow, and draws no random number.
    """
    from dataclasses import replace

    every = max(1, 2 * steps // 5)
    train = replace(
        config.train,
        steps=2 * steps,
        minutes=0.0,
        validate_every=every,
        save_every=every,
        validate_bleu=config.train.stop_on == "bleu",
        show=0,
        tensorboard=False,
    )
    return replace(config, train=train)


def train_both(config: "RunConfig", steps: int, bar: "Bar") -> tuple["Account", "Account"]:
    """Train unbroken, and with an interruption; in folders that share tokeniser and data.

    Raises:
        ConfigError: early stopping ends the training before the interruption.
    """
    import shutil
    from tempfile import TemporaryDirectory

    from regard.build import build_trainer, create_run, open_run
    from regard.errors import ConfigError
    from regard.train.witness import Account, Witness

    with TemporaryDirectory(prefix="regard-verify-") as place:
        run = create_run(Path(place) / "unbroken", config)
        unbroken = Witness(build_trainer(run), Account())
        copy = shutil.copytree(run.folder, Path(place) / "resumed")
        bar.begin("unbroken")
        unbroken.observers.append(bar)
        unbroken.train()
        if unbroken.progress.step <= steps:
            raise ConfigError(
                f"train.patience = {config.train.patience} ends the training at step "
                f"{unbroken.progress.step:,}, before an interruption after {steps:,}; "
                "raise it, or give fewer --steps"
            )
        bar.begin("interrupted")
        interrupted = Witness(build_trainer(open_run(copy)), Account(), stop_after=steps)
        interrupted.observers.append(bar)
        interrupted.train()
        bar.begin("resumed")
        return unbroken.account, _resume_elsewhere(copy, interrupted.account, bar)


def _resume_elsewhere(folder: Path, account: "Account", bar: "Bar") -> "Account":
    """Go on in a new process, as `--resume` does: nothing that this one remembers can help it."""
    from multiprocessing import get_context

    from regard.errors import RegardError
    from regard.train.observer import StepReport
    from regard.train.witness import Account

    context = get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_resume, args=(folder, account, there))
    process.start()
    try:
        while process.is_alive() or here.poll():
            message = here.recv() if here.poll(timeout=0.1) else None
            if isinstance(message, StepReport):
                bar.on_step(message)
            elif isinstance(message, RegardError):
                raise message
            elif isinstance(message, Account):
                return message
    finally:
        process.join()
    raise RegardError("the process that resumed the training has died; what it said is above")


def _resume(folder: Path, account: "Account", channel: "Connection") -> None:
    """The new process's part: send each step, and in the end the account or what went wrong."""
    from regard.build import build_trainer, open_run
    from regard.errors import RegardError
    from regard.train.witness import Witness

    try:
        resumed = Witness(build_trainer(open_run(folder)), account)
        resumed.resume()
        resumed.observers.append(Sender(channel))
        resumed.train()
    except RegardError as error:
        channel.send(error)
    else:
        channel.send(resumed.account)


class Sender:
    """Tells another process of each step."""

    def __init__(self, channel: "Connection") -> None:
        self._channel = channel

    def on_step(self, report: "StepReport") -> None:
        self._channel.send(report)

    def on_validation(self, scores: "Scores", shown: "list[Shown]", is_best: bool) -> None:
        pass

    def on_message(self, line: str) -> None:
        pass


class Bar:
    """Shows how many of all steps are taken, and in which training."""

    def __init__(self, progress: "Progress", steps: int) -> None:
        self._progress = progress
        self._task = progress.add_task("reading", total=steps)

    def begin(self, part: str) -> None:
        self._progress.update(self._task, description=part)

    def on_step(self, report: "StepReport") -> None:
        self._progress.advance(self._task)

    def on_validation(self, scores: "Scores", shown: "list[Shown]", is_best: bool) -> None:
        pass

    def on_message(self, line: str) -> None:
        pass


# --------------------------------------------------------------------------------------------------
# What is printed
# --------------------------------------------------------------------------------------------------


def _exercised(config: "RunConfig") -> dict[str, float]:
    """What a resume can forget, as this run has it; 0 or 1 where it has none."""
    train = config.train
    return {
        "data.noise": config.data.noise,
        "model.dropout": config.model.dropout,
        "text.sampling": config.text.sampling,
        "train.accumulate": train.accumulate,
        "train.patience": train.patience,
        "train.validate_every": train.validate_every,
        "train.save_every": train.save_every,
        "train.ema": train.ema,
        "train.r_drop": train.r_drop,
        "train.guided_alignment": train.guided_alignment,
    }


def _print_json(
    config: "RunConfig", steps: int, account: "Account", differences: "list[Difference]"
) -> None:
    import json
    from dataclasses import asdict

    from regard.machine import fingerprint

    found = {
        "is_equal": not differences,
        "first_difference": asdict(differences[0]) if differences else None,
        "differences": [asdict(difference) for difference in differences],
        "compared": {thing: len(values) for thing, values in account.entries.items()},
        "interrupted_after": steps,
        "steps": max(account.entries["losses"]),
        "settings": _exercised(config),
        "machine": fingerprint(),
    }
    print(json.dumps(found, ensure_ascii=False, indent=2))


def _show(
    run_file: Path,
    config: "RunConfig",
    steps: int,
    account: "Account",
    differences: "list[Difference]",
) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    last = max(account.entries["losses"])
    title = f"{run_file}: {last:,} steps unbroken, and interrupted after {steps:,}"
    console.print(Text(title, style="bold"), soft_wrap=True)
    settings = ", ".join(f"{name} = {value:g}" for name, value in _exercised(config).items())
    console.print(Text(settings, style="dim"), soft_wrap=True)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("compared", no_wrap=True)
    table.add_column("values", justify="right")
    table.add_column("", no_wrap=True)
    parted = {difference.thing: difference.step for difference in differences}
    for thing, values in account.entries.items():
        verdict = f"differ from step {parted[thing]:,} on" if thing in parted else "equal"
        style = "red" if thing in parted else ""
        table.add_row(thing, f"{len(values):,}", verdict, style=style)
    console.print(table)
    if differences:
        first = differences[0]
        verdict = f"NOT equal: the first difference is in the {first.thing}, at step {first.step:,}"
        console.print(Text(verdict, style="bold red"), soft_wrap=True)
    else:
        console.print(Text("equal, bit for bit", style="bold green"), soft_wrap=True)
