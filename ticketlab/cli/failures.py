"""How a command ends when it fails: one line on stderr, and an exit code."""

from __future__ import annotations

import os
import sys
import traceback

import click

from ticketlab.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE, Interrupted, TicketlabError, did_you_mean

DEBUG = "TICKETLAB_DEBUG"
GO_ON = "the same command again goes on from there"


def report(problem: BaseException) -> int:
    """Say on stderr what went wrong and return the exit code."""
    if os.environ.get(DEBUG) == "1":
        traceback.print_exception(problem)
    line, code = _line(problem)
    print(line, file=sys.stderr, flush=True)
    return code


def _line(problem: BaseException) -> tuple[str, int]:
    if isinstance(problem, Interrupted):
        message = one_line(str(problem))
        return message if "again" in message else f"{message or 'interrupted'}; {GO_ON}", problem.exit_code
    if isinstance(problem, (KeyboardInterrupt, click.Abort)):
        return f"interrupted; {GO_ON}", EXIT_INTERRUPTED
    if isinstance(problem, TicketlabError):
        return f"error: {one_line(str(problem))}", problem.exit_code
    if isinstance(problem, click.ClickException):
        return f"error: {_usage(problem)}", EXIT_USAGE
    if isinstance(problem, OSError) and problem.strerror:  # a full disk, a folder that may not be written
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
        known = [name for option in context.command.params for name in option.opts if name.startswith("--")] if context else []
        near = did_you_mean(problem.option_name, known)
        message = f"there is no option `{problem.option_name}`{near if near.startswith('; did you mean') else ''}"
    else:
        message = one_line(problem.format_message()).rstrip(".")
        message = message[:1].lower() + message[1:]
    return f"{message} (`{context.command_path} --help`)" if context else message
