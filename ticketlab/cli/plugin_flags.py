"""``--plugin``, ``--no-plugin`` and ``--no-plugins``, which may be given before or after the command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ticketlab.cli.path_types import PathType

PLUGIN_FILES = "ticketlab.plugin files"
PLUGINS_OFF = "ticketlab.plugins switched off"
PLUGINS_DISABLED = "ticketlab.no plugins"


def _add_files(ctx: click.Context, _: click.Parameter, value: tuple[str, ...]) -> None:
    ctx.meta.setdefault(PLUGIN_FILES, []).extend(value)


def _switch_off(ctx: click.Context, _: click.Parameter, value: tuple[str, ...]) -> None:
    ctx.meta.setdefault(PLUGINS_OFF, []).extend(value)


def _disable(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta[PLUGINS_DISABLED] = ctx.meta.get(PLUGINS_DISABLED, False) or value


def plugin_flags(command: Any) -> Any:
    """Add the options to a command. Their values are kept in ``ctx.meta``, which all contexts of a command line share."""
    decorators: list[Callable[[Any], Any]] = [
        click.option("--no-plugins", is_flag=True, expose_value=False, callback=_disable, help="Do not load installed plugins."),
        click.option(
            "--no-plugin",
            multiple=True,
            metavar="NAME",
            expose_value=False,
            callback=_switch_off,
            help="Do not load this installed plugin; may be repeated.",
        ),
        click.option(
            "--plugin",
            multiple=True,
            metavar="FILE.py",
            type=PathType(),
            expose_value=False,
            callback=_add_files,
            help="Load a plugin from a file, or from the folder of a package; may be repeated.",
        ),
    ]
    for decorate in decorators:
        command = decorate(command)
    return command
