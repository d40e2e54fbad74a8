"""ticketlab: robust lottery tickets in pre-trained language models.

Everything public is imported when it is first used, so that ``import ticketlab`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PUBLIC = {
    "Backbone": "ticketlab.backbone.backbone",
    "Component": "ticketlab.component",
    "Lazy": "ticketlab.hookspecs",
    "Live": "ticketlab.component",
    "Recipe": "ticketlab.recipe",
    "Run": "ticketlab.lab.run",
    "Ticket": "ticketlab.tickets.ticket",
    "TicketlabError": "ticketlab.errors",
    "compose": "ticketlab.cli.compose",
    "draw": "ticketlab.tickets.draw",
    "hookimpl": "ticketlab.hookspecs",
    "ratio": "ticketlab.options",
    "run": "ticketlab.lab.run",
    "setting": "ticketlab.options",
}

if TYPE_CHECKING:
    from ticketlab.backbone.backbone import Backbone as Backbone
    from ticketlab.cli.compose import compose as compose
    from ticketlab.component import Component as Component
    from ticketlab.component import Live as Live
    from ticketlab.errors import TicketlabError as TicketlabError
    from ticketlab.hookspecs import Lazy as Lazy
    from ticketlab.hookspecs import hookimpl as hookimpl
    from ticketlab.lab.run import Run as Run
    from ticketlab.lab.run import run as run
    from ticketlab.options import ratio as ratio
    from ticketlab.options import setting as setting
    from ticketlab.recipe import Recipe as Recipe
    from ticketlab.tickets.draw import draw as draw
    from ticketlab.tickets.ticket import Ticket as Ticket

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'ticketlab' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return __all__
