"""The metrics that the stages of a recipe will measure, as far as can be known before they run."""

from __future__ import annotations

from collections.abc import Iterator

from ticketlab.core.errors import UsageError
from ticketlab.recipes.recipe import Recipe
from ticketlab.report.measure_names import KNOWN, SUBSET
from ticketlab.report.metric_text import split_metric
from ticketlab.report.unknown_metric import metric_hint
from ticketlab.stages.base import Stage
from ticketlab.stages.training_data import AUGMENT

ALWAYS = ("cost", "sparsity", "latency", "history", "looks")
"""Kinds of metrics whose names depend on what happens in a run."""


def measuring_stages(recipe: Recipe) -> list[str]:
    """Return the stages that measure a model. An attack whose texts augment a training does not, and stays on the training split."""
    augmenting = {getattr(stage, AUGMENT, None) for stage in recipe.stages.values()}
    return [name for name, stage in recipe.stages.items() if stage.measures_model and hasattr(stage, "split") and name not in augmenting]


def check_measured(recipe: Recipe, metric: str) -> None:
    """Check that a stage of the recipe measures a metric. Its measure is checked by :func:`ticketlab.report.measure_names.check_measure`.

    :raises UsageError: none does; the message has the nearest metric of those that are measured.
    """
    split, kind, name, measure = split_metric(SUBSET.sub("", metric))
    measured = dict.fromkeys(source for part in recipe.parts() for source in _sources(part))
    kinds = {stage.name for part in recipe.parts() for stage in part.stages.values()}
    if (split, kind, name) in measured or kind in ALWAYS or (kind not in KNOWN and kind in kinds):
        return
    names = [".".join(filter(None, [*source, measure])) for source in measured]
    raise UsageError(f"no stage of the recipe `{recipe.name}` measures `{metric}`{metric_hint(metric, names)}")


def _sources(part: Recipe) -> Iterator[tuple[str, str, str]]:
    """Yield the splits (empty for test), kinds and sets or attacks whose measures the stages report."""
    for name in measuring_stages(part):
        stage = part.stages[name]
        split = _split(stage)
        yield from ((split, "attack", attack.label) for attack in getattr(stage, "attacks", ()))
        if not hasattr(stage, "attacks"):
            yield split, "clean", ""
            yield from (("", "ood", task.label) for task in part.challenge_sets)


def _split(stage: Stage) -> str:
    split = str(getattr(stage, "split", "test"))
    return "" if split == "test" else split
