"""How a command ends when it fails: one line on stderr, and an exit code."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator

import click

from ticketlab.cli import signals, unknown_option
from ticketlab.core import disk_and_memory, progress
from ticketlab.core.errors import EXIT_FAILED, EXIT_USAGE, Interrupted, TicketlabError
from ticketlab.training import interruption

DEBUG = "TICKETLAB_DEBUG"
LONGEST = 2000
"""Characters of a line; a name of a megabyte helps nobody."""


@contextlib.contextmanager
def interruptions() -> Iterator[None]:
    """Turn Ctrl-C and other signals inside the block into errors.

    :raises Interrupted: one came.
    """
    try:
        yield
    except KeyboardInterrupt as problem:
        number = problem.number if isinstance(problem, signals.Stopped) else signal.SIGINT
        raise interruption.error(number, signals.line(number)) from None


def report(problem: BaseException) -> int:
    """Say on stderr what went wrong and return the exit code."""
    if os.environ.get(DEBUG) == "1":
        import traceback

        progress.say("".join(traceback.format_exception(problem)).rstrip("\n"), lines=True)
    line, code = _line(problem)
    progress.say(line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}")
    return code


def _line(problem: BaseException) -> tuple[str, int]:
    if isinstance(problem, Interrupted):
        message = one_line(str(problem))
        return message if signals.RESUME in message else f"{message}; {signals.RESUME}", problem.exit_code
    problem = disk_and_memory.explained(problem) or problem
    if isinstance(problem, TicketlabError):
        return f"error: {one_line(str(problem))}", problem.exit_code
    if isinstance(problem, click.ClickException):
        return f"error: {_usage(problem)}", EXIT_USAGE
    if isinstance(problem, OSError) and problem.strerror:  # such as a folder that may not be written
        where = f"{problem.filename}: " if problem.filename else ""
        return f"error: {where}{problem.strerror}", EXIT_FAILED
    advice = f"set {DEBUG}=1 for the traceback; please report it"
    return f"error: internal: {type(problem).__name__}: {one_line(str(problem))} ({advice})", EXIT_FAILED


def one_line(text: str) -> str:
    """Return a text without line breaks."""
    return " ".join(text.split())


def _usage(problem: click.ClickException) -> str:
    """Return click's message in our words: the nearest option, and where the help is."""
    context = getattr(problem, "ctx", None)
    if isinstance(problem, click.NoSuchOption):
        message = f"there is no option `{problem.option_name}`{unknown_option.hint(problem.option_name, context) if context else ''}"
    else:
        message = one_line(problem.format_message()).rstrip(".")
        message = message[:1].lower() + message[1:]
    return f"{message} (`{context.command_path} --help`)" if context else message
