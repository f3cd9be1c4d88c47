"""A line of a shell, as far as the documentation needs one."""

from contextlib import redirect_stdout
from pathlib import Path

from regard.cli.app import main


def regard(words: list[str]) -> int:
    """Run the command, its output behind `>` written to a file; return the exit code."""
    if ">" not in words:
        return main(words)
    *command, _, file = words
    with Path(file).open("w", encoding="utf-8") as output, redirect_stdout(output):
        return main(command)
