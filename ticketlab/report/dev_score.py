"""The development score of a model, as measured during the training stage that produced it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from ticketlab.lab.layout import RECIPE
from ticketlab.lab.results import training_of
from ticketlab.report.cells import Cell
from ticketlab.report.metric_text import metric_text
from ticketlab.report.stage_settings import stage_settings

Stages = Mapping[str, Mapping[str, Any]]


@frozen
class DevScore:
    """A development score and the ``metric`` that it is a value of; or the ``reason`` why there is none."""

    value: float | None
    metric: str = ""
    reason: str = ""


def dev_score(cell: Cell, task: str, stages: Stages, model: str, at: str, measure: str) -> DevScore:
    """Return the development score of the model of the stage ``model``, at the step whose weights it has.

    That is the last step, or with ``select = "best"`` the selected one. ``stages`` are those of one task and seed, and ``measure`` is the
    measure that is wanted (``accuracy``, ``macro_f1``); a training that did not measure it has its accuracy.
    """
    if model not in stages:
        return DevScore(None, reason="the model is from outside the recipe")
    if at:
        return DevScore(None, reason=f"the model is a checkpoint, {model}@{at}, and has no development score")
    stage = stages[model]
    training = training_of(stage)
    history = training.get("history", ())
    name = f"dev_{measure}" if any(f"dev_{measure}" in record for record in history) else "dev_accuracy"
    measured = [record for record in history if record.get(name) is not None]
    if not measured:
        return DevScore(None, reason=f"`{model}` measured nothing on development data")
    try:
        settings = stage_settings(cell, task).get(model, {})
    except (OSError, ValueError, AttributeError):
        return DevScore(None, reason=f"{cell.folder / RECIPE} cannot be read, so the step of the model's weights is not known")
    record = _selected(training, settings) if settings.get("select") == "best" else measured[-1]
    if record is None:
        return DevScore(None, reason=f"`{model}` measured nothing at a step that it may select")
    return DevScore(float(record[name]), f"history.{model}.{name}")


def _selected(training: Mapping[str, Any], settings: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what was measured at the selected step: the first of the best, of those in the part of the planned steps that may be kept."""
    history = training["history"]
    score = f"dev_{settings.get('select_on', 'accuracy')}"
    steps = training.get("planned_steps", training.get("steps", history[-1]["step"]))  # a stop rule may have ended it earlier
    first = float(settings.get("select_after", 0.0)) * steps
    allowed = [record for record in history if record.get(score) is not None and record["step"] >= first]
    best = min if metric_text(f"clean.{score.removeprefix('dev_')}").better < 0 else max
    return best(allowed, key=lambda record: record[score], default=None)
