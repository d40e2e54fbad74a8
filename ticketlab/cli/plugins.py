"""``ticketlab plugins``: what is there, and where it comes from."""

from __future__ import annotations

import click

from ticketlab.cli import run_recipe, shared_options
from ticketlab.cli.command import Command
from ticketlab.core import registry


@click.command(cls=Command, epilog="Example: ticketlab plugins --plugin my_pruner.py")
@shared_options.JSON
def plugins(as_json: bool) -> None:
    """List every component by kind, with its plugin, and what is wrong with plugins. Nothing heavy is imported.

    TICKETLAB_STRICT_PLUGINS=1 makes every problem of a plugin an error.
    """
    known = registry.current()
    entries = [entry for entries in registry.by_kind(known).values() for entry in entries]
    if as_json:
        run_recipe.print_json(
            {
                "sources": [{"name": source.label, "version": source.version} for source in known.sources],
                "components": [
                    {"kind": entry.kind, "name": entry.name, "summary": entry.summary, "source": entry.source.label} for entry in entries
                ],
                "recipes": [{"name": name, "source": source.label} for name, (_, source) in sorted(known.recipes.items())],
                "problems": [{"source": problem.source, "message": problem.message} for problem in known.problems],
            }
        )
        return
    from rich import box
    from rich.table import Table

    from ticketlab.report.layout import shown

    table = Table(box=box.SIMPLE)
    for column in ("Kind", "Name"):
        table.add_column(column, no_wrap=True)
    for column in ("What it is", "From"):
        table.add_column(column, overflow="fold")
    for kind, of_kind in registry.by_kind(known).items():
        for entry in of_kind:
            table.add_row(kind if entry is of_kind[0] else "", *map(shown, (entry.name, entry.summary, entry.source.label)))
        table.add_section()
    for name, (_, source) in sorted(known.recipes.items()):
        table.add_row("recipe", shown(name), "", shown(source.label))
    run_recipe.print_table(table)
