"""ticketlab: robust and unbiased lottery tickets in pre-trained language models.

Everything public is imported when it is first used, so that ``import ticketlab`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ticketlab.core.version import __version__

_PUBLIC = {
    "Adapter": "ticketlab.backbone.adapters",
    "Adversary": "ticketlab.adversaries.base",
    "Attack": "ticketlab.attacks.base",
    "Backbone": "ticketlab.backbone.backbone",
    "Batch": "ticketlab.training.batch",
    "Begun": "ticketlab.objectives.base",
    "BiasModel": "ticketlab.bias_models.base",
    "Component": "ticketlab.core.component",
    "Example": "ticketlab.tasks.base",
    "Given": "ticketlab.objectives.base",
    "Layer": "ticketlab.backbone.backbone",
    "HubDataset": "ticketlab.tasks.datasets.hub_dataset",
    "Lazy": "ticketlab.core.hookspecs",
    "Live": "ticketlab.core.callback",
    "LiveObjective": "ticketlab.training.loss_function",
    "Local": "ticketlab.tasks.datasets.local",
    "Look": "ticketlab.stop_rules.base",
    "Loss": "ticketlab.losses.base",
    "Objective": "ticketlab.training.loss_function",
    "ObjectiveSettings": "ticketlab.objectives.base",
    "Output": "ticketlab.training.loss_function",
    "Plan": "ticketlab.pruners.base",
    "Pruner": "ticketlab.pruners.base",
    "Recipe": "ticketlab.recipes.recipe",
    "Rows": "ticketlab.training.batch",
    "Run": "ticketlab.runs.run",
    "Search": "ticketlab.pruners.base",
    "StopRule": "ticketlab.stop_rules.base",
    "Task": "ticketlab.tasks.base",
    "TaskData": "ticketlab.tasks.base",
    "Ticket": "ticketlab.tickets.ticket",
    "TicketlabError": "ticketlab.core.errors",
    "Vocabulary": "ticketlab.bias_models.words",
    "Watch": "ticketlab.stop_rules.base",
    "Words": "ticketlab.bias_models.words",
    "compose": "ticketlab.recipes.compose",
    "draw": "ticketlab.tickets.draw",
    "export_model": "ticketlab.export.model",
    "hold": "ticketlab.tickets.holding",
    "hookimpl": "ticketlab.core.hookspecs",
    "judge": "ticketlab.recipes.compose",
    "load_encoder": "ticketlab.backbone.loading",
    "load_plugins": "ticketlab.core.registry",
    "load_tokenizer": "ticketlab.backbone.loading",
    "log_likelihood": "ticketlab.losses.base",
    "ratio": "ticketlab.core.settings",
    "run": "ticketlab.runs.run",
    "setting": "ticketlab.core.settings",
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
    from ticketlab.core.callback import Callback as Callback
    from ticketlab.core.component import Component as Component
    from ticketlab.core.errors import TicketlabError as TicketlabError
    from ticketlab.core.hookspecs import Lazy as Lazy
    from ticketlab.core.hookspecs import hookimpl as hookimpl
    from ticketlab.core.registry import load_plugins as load_plugins
    from ticketlab.core.settings import ratio as ratio
    from ticketlab.core.settings import setting as setting
    from ticketlab.export.model import export_model as export_model
    from ticketlab.losses.base import Loss as Loss
    from ticketlab.losses.base import log_likelihood as log_likelihood
    from ticketlab.objectives.base import Objective as Objective
    from ticketlab.objectives.base import TrainingContext as TrainingContext
    from ticketlab.objectives.base import TrainingSession as TrainingSession
    from ticketlab.pruners.base import Plan as Plan
    from ticketlab.pruners.base import Pruner as Pruner
    from ticketlab.pruners.base import Search as Search
    from ticketlab.pruners.base import structured_units as structured_units
    from ticketlab.pruners.base import weight_units as weight_units
    from ticketlab.recipes.compose import compose as compose
    from ticketlab.recipes.compose import judge as judge
    from ticketlab.recipes.recipe import Recipe as Recipe
    from ticketlab.runs.run import Run as Run
    from ticketlab.runs.run import run as run
    from ticketlab.stop_rules.base import Monitor as Monitor
    from ticketlab.stop_rules.base import Observation as Observation
    from ticketlab.stop_rules.base import StopRule as StopRule
    from ticketlab.tasks.base import Example as Example
    from ticketlab.tasks.base import Task as Task
    from ticketlab.tasks.base import TaskData as TaskData
    from ticketlab.tasks.datasets.hub_dataset import HubDataset as HubDataset
    from ticketlab.tasks.datasets.local import Local as Local
    from ticketlab.tickets.draw import draw as draw
    from ticketlab.tickets.holding import hold as hold
    from ticketlab.tickets.ticket import Ticket as Ticket
    from ticketlab.training.batch import Batch as Batch
    from ticketlab.training.batch import Rows as Rows
    from ticketlab.training.batch import tokenize as tokenize
    from ticketlab.training.loss_function import LossFunction as LossFunction
    from ticketlab.training.loss_function import Output as Output
    from ticketlab.training.loss_function import TrainingLoss as TrainingLoss

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'ticketlab' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return __all__
