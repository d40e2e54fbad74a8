"""``ticketlab plugins``: list the installed components and where they come from."""

from __future__ import annotations

import click

from ticketlab.cli import output, shared_options
from ticketlab.cli.command import Command
from ticketlab.core import registry
from ticketlab.core.plugin_api import API_VERSION


@click.command(cls=Command, epilog="Example: ticketlab plugins --plugin my_pruner.py")
@shared_options.JSON
def plugins(as_json: bool) -> None:
    """List all components by kind, with the plugin that provides each, and report problems of plugins.

    A component whose name others have too is listed as PACKAGE:NAME, which may be written wherever a name may. --no-plugin NAME, or
    TICKETLAB_NO_PLUGIN, switches off an installed plugin. TICKETLAB_STRICT_PLUGINS=1 turns every problem of a plugin into an error.
    """
    known = registry.current()
    entries = [entry for entries in known.by_kind().values() for entry in entries]
    if as_json:
        output.print_json(
            {
                "api": API_VERSION,
                "sources": [{"name": source.label, "version": source.version, "api": source.api} for source in known.sources],
                "components": [
                    {"kind": entry.kind, "name": known.name_of(entry), "summary": entry.summary, "source": entry.source.label}
                    for entry in entries
                ],
                "recipes": [{"name": name, "source": source.label} for name, (_, source) in sorted(known.recipes.items())],
                "off": [{"name": source.label, "version": source.version} for source in known.off],
                "problems": [{"source": problem.source, "message": problem.message} for problem in known.problems],
            }
        )
        return
    from rich import box
    from rich.table import Table

    from ticketlab.report.layout import cell_text

    table = Table(box=box.SIMPLE)
    for column in ("Kind", "Name"):
        table.add_column(column, no_wrap=True)
    for column in ("What it is", "From"):
        table.add_column(column, overflow="fold")
    for kind, of_kind in known.by_kind().items():
        for entry in of_kind:
            table.add_row(kind if entry is of_kind[0] else "", *map(cell_text, (known.name_of(entry), entry.summary, entry.source.label)))
        table.add_section()
    for name, (_, source) in sorted(known.recipes.items()):
        table.add_row("recipe", cell_text(name), "", cell_text(source.label))
    output.print_table(table)
    for source in known.sources:
        if not source.is_built_in:
            output.print_line(f"{source.label} is written for plugin API {source.api}; this is {API_VERSION}")
