"""``ticketlab ticket``: inspect, draw, import, apply and export tickets."""

from __future__ import annotations

import click

from ticketlab.cli.group import LazyGroup

COMMANDS = {
    "info": ("ticketlab.cli.ticket.info:info", "show what a ticket keeps and where it comes from"),
    "draw": ("ticketlab.cli.ticket.draw:draw", "draw a ticket of any sparsity from the scores of a search"),
    "import": ("ticketlab.cli.ticket.import_masks:import_masks", "make a ticket of masks that were found elsewhere"),
    "apply": ("ticketlab.cli.ticket.apply:apply", "write a model with the removed weights set to zero or cut out"),
    "benchmark": ("ticketlab.cli.ticket.benchmark:benchmark", "measure a model in several formats: size, latency, accuracy"),
    "export": ("ticketlab.cli.ticket.export:export", "export a model as dense, shrunk or ONNX, with a model card"),
}


@click.group(
    cls=LazyGroup,
    targets=COMMANDS,
    epilog="Example: ticketlab ticket info robust-ticket --run-seed 0",
)
def ticket() -> None:
    """Inspect, draw, import and apply tickets, and export models."""
