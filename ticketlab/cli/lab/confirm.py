"""Asks before something is removed."""

from __future__ import annotations

import sys

import click

from ticketlab.core.errors import UsageError


def confirmed(question: str, *, yes: bool) -> bool:
    """Return whether to go ahead: with ``--yes``, or if the user says so.

    :raises UsageError: nobody can be asked, because stdin is not a terminal.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError(f"{question} stdin is not a terminal, so nobody can be asked; --yes goes ahead without asking")
    return click.confirm(question, default=False, err=True)
