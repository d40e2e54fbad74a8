"""``ticketlab recipes``: list the recipes that can be run by name, or print one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ticketlab.cli import output, shared_options
from ticketlab.cli.command import Command, plugins_loaded
from ticketlab.cli.group import LazyGroup
from ticketlab.cli.plugin_flags import plugin_flags
from ticketlab.core import registry
from ticketlab.core.errors import TicketlabError, UsageError

TARGETS = {"show": ("ticketlab.cli.recipes:show", "print the TOML file of a recipe")}


@click.group(
    cls=LazyGroup, targets=TARGETS, invoke_without_command=True, epilog="Example: ticketlab recipes show robust-ticket > mine.toml"
)
@shared_options.JSON
@plugin_flags
@click.pass_context
def recipes(ctx: click.Context, as_json: bool) -> None:
    """List the recipes. --json also has their papers and files."""
    if ctx.invoked_subcommand is not None:
        if as_json:
            raise UsageError(f"--json: `{ctx.invoked_subcommand}` prints TOML; leave out --json")
        return
    with plugins_loaded(ctx):
        found = [_describe(name, path, source.label) for name, (path, source) in sorted(registry.current().recipes.items())]
        if as_json:
            output.print_json(found)
            return
        from rich import box
        from rich.table import Table

        from ticketlab.report.layout import cell_text

        table = Table(box=box.SIMPLE)
        table.add_column("Recipe", no_wrap=True)
        for column in ("What it does", "Scales", "From"):
            table.add_column(column, overflow="fold")
        for recipe in found:
            table.add_row(
                *(cell_text(str(recipe[key])) for key in ("name", "summary")), ", ".join(recipe["scales"]), cell_text(recipe["source"])
            )
        output.print_table(table)


@click.command(cls=Command, epilog="Example: ticketlab recipes show robust-ticket > mine.toml")
@click.argument("name")
def show(name: str) -> None:
    """Print the TOML file of the recipe NAME as it was written. `ticketlab run NAME --dry-run` prints it with all settings."""
    from ticketlab.recipes import tables

    _, _, path = tables.read(name)
    click.echo(Path(path).read_text(encoding="utf-8"), nl=False)


def _describe(name: str, path: Path, source: str) -> dict[str, Any]:
    """Return the facts of a recipe for the list; a broken file is described by its error."""
    from ticketlab.recipes import tables

    try:
        table = tables.read(name)[1]
    except (TicketlabError, OSError, ValueError) as problem:
        table = {"summary": f"cannot be read: {problem}"}
    scales = table.get("scales")
    facts = {"summary": table.get("summary", ""), "paper": table.get("paper", "")}
    facts["paper_seeds"] = trials if isinstance(trials := table.get("paper_seeds"), int) else None
    facts["scales"] = ["full", *scales] if isinstance(scales, Mapping) else ["full"]
    return {"name": name, **facts, "source": source, "file": str(path)}
