"""The recipe of a trial, which measures on the development split, and the metric's value in its run."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from ticketlab.core.errors import TicketlabError, UsageError, did_you_mean
from ticketlab.recipes.recipe import Recipe
from ticketlab.report.cells import compare_runs
from ticketlab.report.measure_names import check_measure
from ticketlab.report.metric_text import split_metric
from ticketlab.report.metric_values import distinct_values, metric_values
from ticketlab.report.selection import is_of_dev
from ticketlab.studies.cell_recipe import compose_cells
from ticketlab.studies.definition import Study
from ticketlab.studies.measured_metrics import measuring_stages

DEV = "dev"


@frozen(kw_only=True)
class TunedRecipe:
    """The recipe whose settings are tuned, as the arguments of a study of one cell. ``settings`` are by key, as in a study file."""

    recipe: str
    tasks: tuple[Any, ...] = ()
    scale: str | None = None
    seeds: tuple[int, ...] | None = None
    settings: Mapping[str, Any] = field(factory=dict)

    def compose(self, values: Mapping[str, Any]) -> Recipe:
        """Return the recipe with the values of a trial; what measures a model does so on the development split.

        :raises UsageError: a value is not valid, or the recipe does not have a setting.
        """
        settings = {**self.settings, **values}
        composed = self._compose(settings)
        measuring = dict.fromkeys(name for part in composed.parts() for name in measuring_stages(part))
        return self._compose({**settings, **{f"{name}.split": DEV for name in measuring}})

    def _compose(self, settings: Mapping[str, Any]) -> Recipe:
        study = Study(name="trial", recipe=self.recipe, tasks=self.tasks, scale=self.scale, seeds=self.seeds, settings=settings)
        (cell,) = compose_cells(study)
        if cell.recipe is None or cell.inapplicable:
            raise UsageError(
                cell.error or f"the recipe `{self.recipe}` has no setting {', '.join(f'`{key}`' for key in cell.inapplicable)}"
            )
        return cell.recipe


def check_dev_metric(recipe: Recipe, metric: str) -> None:
    """Check that a metric is measured on development data, and that the recipe of a trial measures it as far as can be known.

    :raises UsageError: it is not, or does not.
    """
    if not is_of_dev(metric):
        raise UsageError(
            f"--metric {metric}: test numbers of settings that are chosen on test data are too good; name a metric of the "
            f"development split, such as {DEV}.{metric.removeprefix('test.')}"
        )
    try:
        check_measure(metric)
    except UsageError as problem:
        raise UsageError(f"--metric {metric}: {problem}") from None
    parts = recipe.parts()
    kinds = {stage.name for part in parts for stage in part.stages.values()}
    split, kind, attack, _ = split_metric(metric)
    attacks = dict.fromkeys(
        own.label for part in parts for name in measuring_stages(part) for own in getattr(part.stages[name], "attacks", ())
    )
    if split == DEV and kind == "ood":
        raise UsageError(
            f"--metric {metric}: challenge sets are evaluated on their test split only, which is not for choosing settings; name a metric "
            f"of the task, such as {DEV}.clean.accuracy"
        )
    if split == DEV and kind == "attack" and attack not in attacks:
        raise UsageError(f"--metric {metric}: the recipe has no attack `{attack}`{did_you_mean(attack, attacks)}")
    if split == DEV and kind == "clean" and "evaluate" not in kinds:
        raise UsageError(f"--metric {metric}: the recipe has no stage that evaluates a model")


def measured_value(run: Path, metric: str) -> float:
    """Return a metric of a finished run: the mean over seeds, and over tasks if it has several.

    :raises TicketlabError: the run does not have it, or has it of several models.
    """
    (cell,) = compare_runs([run]).cells
    by_task = metric_values(cell, metric)
    if not by_task:
        raise TicketlabError(f"the run has no number `{metric}`")
    means = [statistics.fmean(value.value for value in distinct_values(values)) for values in by_task.values()]
    return statistics.fmean(means)
