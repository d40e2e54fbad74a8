"""``ticketlab ticket info``: show what a ticket keeps and where it comes from."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ticketlab.cli import output, shared_options
from ticketlab.cli.command import Command
from ticketlab.cli.path_types import PathType
from ticketlab.cli.ticket.find_ticket import ticket_file

MOST_SHOWN = 4
"""The number of elements of a list in the provenance that are shown without ``--json``."""


@click.command(cls=Command, epilog="Example: ticketlab ticket info ticket.safetensors --json")
@click.argument("file", type=PathType())
@shared_options.OF_RUN
@shared_options.LAB
@shared_options.JSON
def info(file: Path, run_seed: int | None, run_task: str | None, lab: Path, as_json: bool) -> None:
    """Show what the ticket in FILE keeps of each group and matrix, and where it comes from.

    FILE may also be the folder of a draw stage, or a run: given by its name or directory, by the beginning of its name or digest, or by
    the name of its recipe for the latest run in --lab with a draw stage; `latest` is the latest of all.
    """
    from ticketlab.tickets.ticket import Ticket

    path = ticket_file(file, lab, run_task, run_seed)
    ticket = Ticket.load(path)
    groups = {
        group: {"kept": ticket.kept(group), "total": ticket.total(group), "sparsity": ticket.sparsity(group)} for group in ticket.groups
    }
    hashes = {"structure": ticket.structure, "found_on": ticket.found_on, "rewind_to": ticket.rewind_to}
    if as_json:
        masks = [{"name": name, "kept": kept, "total": total} for name, kept, total in ticket.survival()]
        whole = {"sparsity": ticket.sparsity(), "bytes": path.stat().st_size}
        classifier = {"classifier": {"labels": list(ticket.labels), "tensors": sorted(ticket.head)}} if ticket.head else {}
        output.print_json({**whole, "groups": groups, "masks": masks, **hashes, **classifier, "provenance": dict(ticket.provenance)})
        return
    from rich import box
    from rich.table import Table

    from ticketlab.report.layout import cell_text

    table = Table("", box=box.SIMPLE)
    for column in ("Kept", "Of", "Sparsity %"):
        table.add_column(column, justify="right")
    for group, counts in groups.items():
        table.add_row(group, str(counts["kept"]), str(counts["total"]), f"{100 * counts['sparsity']:.4f}")
    table.add_section()
    for name, kept, total in ticket.survival():
        table.add_row(cell_text(name), str(kept), str(total), f"{100 * (total - kept) / total:.1f}" if total else "-")
    output.print_table(table)
    if ticket.head:
        output.print_line(f"classifier: for {', '.join(ticket.labels)}")
    for name, text in {name: value for name, value in {**hashes, **ticket.provenance}.items() if value not in (None, "")}.items():
        output.print_line(f"{name}: {_shown(text)}")


def _shown(value: object) -> str:
    """Return a value of the provenance on one line; of a long list the first elements."""
    if isinstance(value, list) and len(value) > MOST_SHOWN:
        return f"{', '.join(map(_shown, value[:MOST_SHOWN]))} and {len(value) - MOST_SHOWN} more"
    return value if isinstance(value, str) else json.dumps(value)
