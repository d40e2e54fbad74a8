"""ticketlab: robust and unbiased lottery tickets in pre-trained language models.

Everything public is imported when it is first used, so that ``import ticketlab`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PUBLIC = {
    "Adapter": "ticketlab.backbone.adapters",
    "Adversary": "ticketlab.adversaries.base",
    "Attack": "ticketlab.attacks.base",
    "Backbone": "ticketlab.backbone.backbone",
    "Batch": "ticketlab.training.batch",
    "Begun": "ticketlab.objectives.base",
    "BiasModel": "ticketlab.bias_models.base",
    "Component": "ticketlab.component",
    "Example": "ticketlab.tasks.base",
    "Given": "ticketlab.objectives.base",
    "Layer": "ticketlab.backbone.backbone",
    "HubDataset": "ticketlab.tasks.hub_dataset",
    "Lazy": "ticketlab.hookspecs",
    "Live": "ticketlab.component",
    "LiveObjective": "ticketlab.training.objective",
    "Local": "ticketlab.tasks.local",
    "Look": "ticketlab.stop_rules.base",
    "Loss": "ticketlab.losses.base",
    "Objective": "ticketlab.training.objective",
    "ObjectiveSettings": "ticketlab.objectives.base",
    "Output": "ticketlab.training.objective",
    "Plan": "ticketlab.pruners.base",
    "Pruner": "ticketlab.pruners.base",
    "Recipe": "ticketlab.recipe",
    "Rows": "ticketlab.training.batch",
    "Run": "ticketlab.lab.run",
    "Search": "ticketlab.pruners.base",
    "StopRule": "ticketlab.stop_rules.base",
    "Task": "ticketlab.tasks.base",
    "TaskData": "ticketlab.tasks.base",
    "Ticket": "ticketlab.tickets.ticket",
    "TicketlabError": "ticketlab.errors",
    "Vocabulary": "ticketlab.bias_models.words",
    "Watch": "ticketlab.stop_rules.base",
    "Words": "ticketlab.bias_models.words",
    "compose": "ticketlab.composition",
    "draw": "ticketlab.tickets.draw",
    "export_model": "ticketlab.export.model",
    "hold": "ticketlab.tickets.holding",
    "hookimpl": "ticketlab.hookspecs",
    "judge": "ticketlab.composition",
    "load_encoder": "ticketlab.backbone.loading",
    "load_plugins": "ticketlab.registry",
    "load_tokenizer": "ticketlab.backbone.loading",
    "log_likelihood": "ticketlab.losses.base",
    "ratio": "ticketlab.options",
    "run": "ticketlab.lab.run",
    "setting": "ticketlab.options",
    "shrink": "ticketlab.backbone.shrinking",
    "structured_units": "ticketlab.pruners.base",
    "tokenize": "ticketlab.training.batch",
    "unshrink": "ticketlab.backbone.shrinking",
    "weight_units": "ticketlab.pruners.base",
}

if TYPE_CHECKING:
    from ticketlab.adversaries.base import Adversary as Adversary
    from ticketlab.attacks.base import Attack as Attack
    from ticketlab.backbone.adapters import Adapter as Adapter
    from ticketlab.backbone.backbone import Backbone as Backbone
    from ticketlab.backbone.backbone import Layer as Layer
    from ticketlab.backbone.loading import load_encoder as load_encoder
    from ticketlab.backbone.loading import load_tokenizer as load_tokenizer
    from ticketlab.backbone.shrinking import shrink as shrink
    from ticketlab.backbone.shrinking import unshrink as unshrink
    from ticketlab.bias_models.base import BiasModel as BiasModel
    from ticketlab.bias_models.words import Vocabulary as Vocabulary
    from ticketlab.bias_models.words import Words as Words
    from ticketlab.component import Component as Component
    from ticketlab.component import Live as Live
    from ticketlab.composition import compose as compose
    from ticketlab.composition import judge as judge
    from ticketlab.errors import TicketlabError as TicketlabError
    from ticketlab.export.model import export_model as export_model
    from ticketlab.hookspecs import Lazy as Lazy
    from ticketlab.hookspecs import hookimpl as hookimpl
    from ticketlab.lab.run import Run as Run
    from ticketlab.lab.run import run as run
    from ticketlab.losses.base import Loss as Loss
    from ticketlab.losses.base import log_likelihood as log_likelihood
    from ticketlab.objectives.base import Begun as Begun
    from ticketlab.objectives.base import Given as Given
    from ticketlab.objectives.base import ObjectiveSettings as ObjectiveSettings
    from ticketlab.options import ratio as ratio
    from ticketlab.options import setting as setting
    from ticketlab.pruners.base import Plan as Plan
    from ticketlab.pruners.base import Pruner as Pruner
    from ticketlab.pruners.base import Search as Search
    from ticketlab.pruners.base import structured_units as structured_units
    from ticketlab.pruners.base import weight_units as weight_units
    from ticketlab.recipe import Recipe as Recipe
    from ticketlab.registry import load_plugins as load_plugins
    from ticketlab.stop_rules.base import Look as Look
    from ticketlab.stop_rules.base import StopRule as StopRule
    from ticketlab.stop_rules.base import Watch as Watch
    from ticketlab.tasks.base import Example as Example
    from ticketlab.tasks.base import Task as Task
    from ticketlab.tasks.base import TaskData as TaskData
    from ticketlab.tasks.hub_dataset import HubDataset as HubDataset
    from ticketlab.tasks.local import Local as Local
    from ticketlab.tickets.draw import draw as draw
    from ticketlab.tickets.holding import hold as hold
    from ticketlab.tickets.ticket import Ticket as Ticket
    from ticketlab.training.batch import Batch as Batch
    from ticketlab.training.batch import Rows as Rows
    from ticketlab.training.batch import tokenize as tokenize
    from ticketlab.training.objective import LiveObjective as LiveObjective
    from ticketlab.training.objective import Objective as Objective
    from ticketlab.training.objective import Output as Output

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'ticketlab' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return __all__
