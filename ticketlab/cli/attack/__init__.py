"""``ticketlab attack``: attack a model, show the records, and export adversarial examples."""

from __future__ import annotations

import click

from ticketlab.cli.default_command import DefaultCommandGroup

COMMANDS = {
    "show": ("ticketlab.cli.attack.show:show", "show the numbers of an attack and what it changed in each text"),
    "export": ("ticketlab.cli.attack.export:export", "write the texts that fooled the model as a data set"),
}


@click.group(cls=DefaultCommandGroup, default="ticketlab.cli.attack.run:run", targets=COMMANDS)
def attack() -> None:
    """Attack a model, show the records, and export adversarial examples."""
