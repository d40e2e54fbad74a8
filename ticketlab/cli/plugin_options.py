"""``--plugin`` and ``--no-plugins``: before or after the command, they mean the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ticketlab.cli.path_types import Place

FILES = "ticketlab.plugin files"
DISABLED = "ticketlab.no plugins"


def _add_files(ctx: click.Context, _: click.Parameter, value: tuple[str, ...]) -> None:
    ctx.meta.setdefault(FILES, []).extend(value)


def _disable(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta[DISABLED] = ctx.meta.get(DISABLED, False) or value


def plugin_options(command: Any) -> Any:
    """Add the two options to a command; they are kept in ``ctx.meta``, which all contexts of a command line share."""
    decorators: list[Callable[[Any], Any]] = [
        click.option("--no-plugins", is_flag=True, expose_value=False, callback=_disable, help="Leave installed plugins out."),
        click.option(
            "--plugin",
            multiple=True,
            metavar="FILE.py",
            type=Place(),
            expose_value=False,
            callback=_add_files,
            help="Load a plugin from a file; may be repeated.",
        ),
    ]
    for decorate in decorators:
        command = decorate(command)
    return command
