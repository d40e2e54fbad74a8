"""Turns a failure of a command into one line on stderr and an exit code."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Iterator

import click

from ticketlab.cli import signals, unknown_option
from ticketlab.core import debugging, disk_and_memory, progress
from ticketlab.core.errors import EXIT_FAILED, EXIT_USAGE, Interrupted, TicketlabError, nearest
from ticketlab.training import interruption

MAX_LINE = 2000
"""Maximum length of a line in characters; longer ones are cut in the middle."""


@contextlib.contextmanager
def interrupts_as_errors() -> Iterator[None]:
    """Turn Ctrl-C and other signals inside the block into errors.

    :raises Interrupted: a signal was received.
    """
    try:
        yield
    except KeyboardInterrupt as problem:
        number = problem.number if isinstance(problem, signals.SignalReceived) else signal.SIGINT
        raise interruption.error(number, signals.message(number)) from None


def report(problem: BaseException) -> int:
    """Report a failure on stderr and return the exit code."""
    debugging.print_traceback(problem)
    line, code = _line_and_code(problem)
    progress.say(line if len(line) <= MAX_LINE else f"{line[: MAX_LINE // 2]} ... {line[-MAX_LINE // 2 :]}")
    return code


def _line_and_code(problem: BaseException) -> tuple[str, int]:
    if isinstance(problem, Interrupted):
        message = one_line(str(problem))
        return message if signals.RESUME in message else f"{message}; {signals.RESUME}", problem.exit_code
    problem = disk_and_memory.explained(problem) or problem
    if isinstance(problem, TicketlabError):
        return f"error: {one_line(str(problem))}", problem.exit_code
    if isinstance(problem, click.ClickException):
        return f"error: {_usage_message(problem)}", EXIT_USAGE
    if isinstance(problem, OSError) and problem.strerror:  # such as a folder without write permission
        where = f"{problem.filename}: " if problem.filename else ""
        return f"error: {where}{problem.strerror}", EXIT_FAILED
    if (of_plugin := _error_of_plugin(problem)) is not None:
        return f"error: {one_line(str(of_plugin))}", of_plugin.exit_code
    advice = f"set {debugging.DEBUG}=1 for the traceback; please report it"
    return f"error: internal: {type(problem).__name__}: {one_line(str(problem))} ({advice})", EXIT_FAILED


def _error_of_plugin(problem: BaseException) -> TicketlabError | None:
    from ticketlab.core import plugin_errors  # imports the registry, which most commands that fail early do not need

    return plugin_errors.explained(problem)


def one_line(text: str) -> str:
    """Return a text with every run of white space as one space."""
    return " ".join(text.split())


def _usage_message(problem: click.ClickException) -> str:
    """Return click's message in our format, with the nearest option and the command that prints the help."""
    context = getattr(problem, "ctx", None)
    if isinstance(problem, click.NoSuchOption):
        message = f"unknown option `{problem.option_name}`{unknown_option.hint(problem.option_name, context) if context else ''}"
    else:
        message = one_line(problem.format_message()).rstrip(".")
        message = message[:1].lower() + message[1:] + _nearest_choice(problem)
    return f"{message} (`{context.command_path} --help`)" if context else message


def _nearest_choice(problem: click.ClickException) -> str:
    """Return a hint at the choice that is nearest to a wrong value of a parameter; an empty string for other errors."""
    parameter = getattr(problem, "param", None)
    wrong = re.match(r"'(.*)' is not one of", problem.message)
    if wrong is None or parameter is None or not isinstance(parameter.type, click.Choice):
        return ""
    near = nearest(wrong[1], list(parameter.type.choices))
    return f"; did you mean `{near}`?" if near else ""
