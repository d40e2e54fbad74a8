"""Asks before something is removed."""

from __future__ import annotations

import sys

import click

from ticketlab.core.errors import UsageError


def confirmed(question: str, *, yes: bool) -> bool:
    """Return whether to go ahead: with ``--yes``, or if the user says so. The end of the input (Ctrl-D) means no.

    :raises UsageError: stdin is not a terminal, so the question cannot be answered.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError(f"{question} stdin is not a terminal, so the question cannot be answered; --yes skips it")
    try:
        return click.confirm(question, default=False, err=True)
    except click.Abort as problem:
        click.echo(err=True)
        if isinstance(problem.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        return False  # Ctrl-D
