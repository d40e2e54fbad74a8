"""What commands print on stdout: lines, JSON, TOML and tables, with control characters escaped."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from ticketlab.core import formatting

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDTH_WITHOUT_TERMINAL = 160


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout. Letters of any script stay; control characters are escaped as in JSON."""
    whole = json.dumps(value, indent=2, ensure_ascii=False)
    click.echo("\n".join(line if line.isprintable() else _json_escaped(line) for line in whole.split("\n")))


def print_toml(text: str) -> None:
    """Print TOML on stdout, with control characters escaped as in TOML."""
    click.echo("".join(one if one.isprintable() or one == "\n" else f"\\U{ord(one):08x}" for one in text.rstrip("\n")))


def _json_escaped(line: str) -> str:
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in line)


def print_line(text: str = "") -> None:
    """Print a line on stdout, with control characters escaped."""
    click.echo(formatting.printable(text))


def print_table(table: Table) -> None:
    """Print a table on stdout."""
    open_console().print(table)


def open_console() -> Console:
    """Return a console on stdout, as wide as the terminal; without a terminal it has a fixed width."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL)
