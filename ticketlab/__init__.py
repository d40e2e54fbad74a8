"""ticketlab: robust and unbiased lottery tickets in pre-trained language models.

The names here are for users; what authors of plugins need is in ``ticketlab.plugin``. Names are imported when they are first used, so
``import ticketlab`` is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticketlab.core.lazy_exports import lazy_exports
from ticketlab.core.version import __version__

_EXPORTS = {
    "attack": "ticketlab.runs.measure",
    "compare": "ticketlab.studies.find",
    "Comparison": "ticketlab.report.cells",
    "compose": "ticketlab.recipes.compose",
    "DataError": "ticketlab.core.errors",
    "evaluate": "ticketlab.runs.measure",
    "export_model": "ticketlab.export.model",
    "hold": "ticketlab.tickets.holding",
    "HubDataset": "ticketlab.tasks.datasets.hub_dataset",
    "load_plugins": "ticketlab.core.registry",
    "LocalDataset": "ticketlab.tasks.datasets.local",
    "Recipe": "ticketlab.recipes.recipe",
    "Run": "ticketlab.runs.run",
    "run": "ticketlab.runs.run",
    "shrink": "ticketlab.backbone.shrinking",
    "study": "ticketlab.studies.study",
    "StudyRun": "ticketlab.studies.study",
    "Ticket": "ticketlab.tickets.ticket",
    "tune": "ticketlab.tuning.tune",
    "TicketlabError": "ticketlab.core.errors",
    "unshrink": "ticketlab.backbone.shrinking",
    "UsageError": "ticketlab.core.errors",
    "write_report": "ticketlab.pages.report_page",
}

if TYPE_CHECKING:
    from ticketlab.backbone.shrinking import shrink as shrink
    from ticketlab.backbone.shrinking import unshrink as unshrink
    from ticketlab.core.errors import DataError as DataError
    from ticketlab.core.errors import TicketlabError as TicketlabError
    from ticketlab.core.errors import UsageError as UsageError
    from ticketlab.core.registry import load_plugins as load_plugins
    from ticketlab.export.model import export_model as export_model
    from ticketlab.pages.report_page import write_report as write_report
    from ticketlab.recipes.compose import compose as compose
    from ticketlab.recipes.recipe import Recipe as Recipe
    from ticketlab.report.cells import Comparison as Comparison
    from ticketlab.runs.measure import attack as attack
    from ticketlab.runs.measure import evaluate as evaluate
    from ticketlab.runs.run import Run as Run
    from ticketlab.runs.run import run as run
    from ticketlab.studies.find import compare as compare
    from ticketlab.studies.study import StudyRun as StudyRun
    from ticketlab.studies.study import study as study
    from ticketlab.tasks.datasets.hub_dataset import HubDataset as HubDataset
    from ticketlab.tasks.datasets.local import LocalDataset as LocalDataset
    from ticketlab.tickets.holding import hold as hold
    from ticketlab.tickets.ticket import Ticket as Ticket
    from ticketlab.tuning.tune import tune as tune

__all__ = ["__version__", *sorted(_EXPORTS)]
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
