"""Preflight checks of the model's family: that its models can be shrunk, and have a masked-language-model head, where stages need it."""

from __future__ import annotations

from collections.abc import Mapping

from ticketlab.backbone import loading
from ticketlab.backbone.adapters import adapter_of, has_adapter
from ticketlab.backbone.shrink_trial import check_can_shrink
from ticketlab.core.component import components_in
from ticketlab.core.errors import UsageError
from ticketlab.core.references import stage_of
from ticketlab.lab.layout import TICKET
from ticketlab.objectives.mlm import MaskedLM
from ticketlab.pruners.base import Pruner
from ticketlab.recipes.recipe import Recipe
from ticketlab.runs import external_inputs
from ticketlab.stages.base import Stage
from ticketlab.stages.draw import Draw
from ticketlab.tickets.ticket import Ticket

MODELS = ("start", "model")
"""The references of a stage to the model that it trains or exports."""


def check_family(recipe: Recipe, model: str) -> None:
    """Check that the models that stages shrink, or train to predict masked words, allow it. ``model`` is the recipe's, resolved.

    Models of built-in families take no time; one of a plugin's family is shrunk on trial.

    :raises UsageError: they do not; the message begins with the name of the stage.
    """
    for name, stage in recipe.stages.items():
        shrinks = stage.shrinks and _is_structured(recipe, stage)
        predicts_words = any(isinstance(part, MaskedLM) for part in components_in(stage))
        source = _model_of(recipe.stages, stage) or model
        if not (shrinks or predicts_words) or not source:
            continue
        config = loading.load_config(source, source)
        if not has_adapter(config.model_type):
            continue  # refused, with all the reasons, when the model is loaded
        try:
            if shrinks:
                check_can_shrink(config)
        except UsageError as problem:
            raise UsageError(f"{name}: {problem}") from None
        if predicts_words and not adapter_of(config.model_type).mlm_heads:
            raise UsageError(
                f"{name}.objective: `{config.model_type}` models have no masked-language-model head; choose the objective `task`"
            )


def _model_of(stages: Mapping[str, Stage], stage: Stage) -> str:
    """Return the model outside the recipe that a stage starts from, itself or through other stages; empty if it is the recipe's."""
    references = stage.references()
    reference = next((references[field] for field in MODELS if field in references), "")
    if not reference:
        return ""
    other = stages.get(stage_of(reference))
    return (
        _model_of(stages, other)
        if other is not None
        else external_inputs.resolve_reference("model", reference, external_inputs.MODELS)[0].model
    )


def _is_structured(recipe: Recipe, stage: Stage) -> bool:
    """Return whether a stage's ticket is one of heads and neurons."""
    ticket = stage.references().get("ticket")
    if ticket is None:
        return False
    drawn = recipe.stages.get(stage_of(ticket))
    if not isinstance(drawn, Draw):
        found = external_inputs.resolve_for_tasks_and_seeds("ticket", ticket, recipe, stage)
        return any("weights" not in Ticket.load(external.file(TICKET)).groups for external, _ in found)
    pruner = getattr(recipe.stages.get(stage_of(drawn.search)), "pruner", None)
    return isinstance(pruner, Pruner) and pruner.groups() != ("weights",)
