"""The commands put together, and what becomes of an error."""

import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, UnusedCliTokensError

from regard import __version__
from regard.cli.align import align
from regard.cli.baseline import app as baseline
from regard.cli.convert import convert
from regard.cli.data import app as data
from regard.cli.demo import demo
from regard.cli.distil import distil
from regard.cli.heads import heads
from regard.cli.info import info
from regard.cli.look import look
from regard.cli.new import new
from regard.cli.quantise import quantise
from regard.cli.road import road
from regard.cli.score import score
from regard.cli.serve import serve
from regard.cli.shortlist import shortlist
from regard.cli.train import train
from regard.cli.translate import translate
from regard.cli.verify_resume import verify_resume
from regard.errors import RegardError

app = App(
    name="regard",
    help="Train, measure and look into Transformers for translation, on your own CPU.",
    version=__version__,
    suppress_keyboard_interrupt=False,  # `main` answers it
)
COMMANDS = (
    demo,
    train,
    translate,
    score,
    look,
    heads,
    serve,
    info,
    align,
    road,
    distil,
    convert,
    quantise,
    shortlist,
    new,
    verify_resume,
)
GROUPS = (data, baseline)
for command in (*COMMANDS, *GROUPS):
    app.command(command)

USER_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; a user's error is one line and exit code 2, `--debug` shows where."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    is_debugging = "--debug" in given
    if is_debugging:
        given.remove("--debug")
    try:
        result = app(given, exit_on_error=False, print_error=False, result_action="return_value")
    except BrokenPipeError:
        # The reader of our output has left, as `head` does: nothing more to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (RegardError, CycloptsError, OSError) as error:
        if is_debugging:
            raise
        _complain(" ".join(_told(error).split()))
        return USER_ERROR
    except KeyboardInterrupt:
        _complain("interrupted")
        return 130
    return result if isinstance(result, int) else 0


def _told(error: Exception) -> str:
    """What to say of an error: what its author wrote, but for words that nothing asked for."""
    if isinstance(error, UnusedCliTokensError):
        unused = " ".join(error.unused_tokens or ())
        return (
            f"{unused}: nothing more was expected; a text of several words needs quotes around it"
        )
    return str(error)


def _complain(line: str) -> None:
    print(f"regard: {line}", file=sys.stderr)
