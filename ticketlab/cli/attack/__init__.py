"""``ticketlab attack``: attack a model, look at what came of it, and make a data set of it."""

from __future__ import annotations

import click

from ticketlab.cli.default_command import OwnCommand

COMMANDS = {
    "show": ("ticketlab.cli.attack.show:show", "what an attack changed in each text, and its numbers"),
    "export": ("ticketlab.cli.attack.export:export", "write the texts that fooled the model as a data set"),
}


@click.group(cls=OwnCommand, own="ticketlab.cli.attack.run:run", targets=COMMANDS)
def attack() -> None:
    """Attack a model, look at what came of it, and make a data set of it."""
