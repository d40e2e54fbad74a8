"""The inputs of a run - its data, challenge sets and model - loaded and checked before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, field, frozen

from ticketlab.core import progress
from ticketlab.core.formatting import counted
from ticketlab.recipes import task_groups
from ticketlab.recipes.recipe import Recipe
from ticketlab.runs import copied_outputs, family_checks, preflight, task_checks
from ticketlab.runs.input_cache import InputCache
from ticketlab.stages.base import Stage
from ticketlab.tasks.assembly import repeats
from ticketlab.tasks.base import Task, TaskData

MAX_LABEL_NAMES = 30
"""The maximum number of label names in the line about a data set."""


@frozen
class RunInputs:
    """The data of each task and the challenge sets, by label.

    ``model`` is the resolved model and ``model_fingerprint`` its fingerprint; both are empty if no stage needs it. ``own`` has the data of
    the tasks that stages name themselves (:func:`ticketlab.recipes.task_groups.own_task`).
    """

    recipe: Recipe
    data: Mapping[str, TaskData]
    sets: Mapping[str, TaskData]
    model: str
    model_fingerprint: str
    own: Mapping[Task, TaskData] = field(factory=dict)

    @property
    def stages(self) -> list[Stage]:
        """The stages of all tasks; stages that tasks share are listed once."""
        return [stage for part in self.recipe.parts() for stage in part.stages.values()]

    def ood(self, part: Recipe) -> tuple[TaskData, ...]:
        """Return the challenge sets of the tasks in a part of the recipe."""
        return tuple(self.sets[task.label] for task in part.challenge_sets)

    def names(self) -> dict[Task, str]:
        """Return the name of each task in :attr:`own` in results: its label, with the stage if another data set has this label."""
        taken = {label: data.fingerprint for label, data in self.data.items()}
        found = {}
        for task, stage in task_groups.own_tasks(self.recipe).items():
            if task not in self.own:  # in a plan, which does without data that is not on this machine
                continue
            fingerprint = self.own[task].fingerprint
            found[task] = task.label if taken.setdefault(task.label, fingerprint) == fingerprint else f"{task.label} ({stage})"
        return found

    def data_of_stages(self) -> dict[str, TaskData]:
        """Return the data of the tasks that stages name themselves and the run does not, by their names in results."""
        return {name: self.own[task] for task, name in self.names().items() if name not in self.data}

    def report(self) -> None:
        """Print all data sets; see :func:`report_data`."""
        for label, data in {**self.data, **self.sets, **self.data_of_stages()}.items():
            report_data(label, data)


def load_run_inputs(recipe: Recipe, cache: InputCache | None = None) -> RunInputs:
    """Load the data and resolve the model. Several recipes may share a ``cache``.

    :raises UsageError: one of them does not exist or cannot be read.
    """
    preflight.check_files_of_tasks(recipe)
    cache = cache or InputCache()
    data = {task.label: cache.task(recipe.of(task), task) for task in recipe.tasks}
    sets = {task.label: cache.challenge_set(task) for part in recipe.parts() for task in part.challenge_sets}
    model, model_fingerprint = cache.model(recipe.model) if any(map(needs_model, recipe.parts())) else ("", "")
    own = {task: cache.task(recipe, task) for task in task_groups.own_tasks(recipe)}
    return RunInputs(recipe, data, sets, model, model_fingerprint, own)


def needs_model(recipe: Recipe) -> bool:
    """Return whether a stage loads the recipe's model."""
    return any(stage.needs_model for stage in recipe.stages.values())


def check_run_inputs(inputs: RunInputs) -> RunInputs:
    """Run the preflight checks. Returns the inputs with warnings about overlaps between splits, tasks and challenge sets.

    :raises TicketlabError: labels do not fit, or something that a stage needs is missing or unusable.
    """
    copied_outputs.check_unique_names(inputs.recipe)
    for part in inputs.recipe.parts():
        data, ood = [inputs.data[task.label] for task in part.tasks], [inputs.sets[task.label] for task in part.ood]
        task_checks.check_data(part, data, ood, inputs.own)
        preflight.check_references(part)
        task_checks.check_external_classifiers(part, data, inputs.own)
        family_checks.check_family(part, inputs.model)
        checked = task_checks.with_overlap_warnings(part, data, ood, inputs.own)
        inputs = evolve(
            inputs,
            data={**inputs.data, **{task.label: data for task, data in zip(part.tasks, checked.data, strict=True)}},
            sets={**inputs.sets, **{task.label: data for task, data in zip(part.ood, checked.sets, strict=True)}},
            own={**inputs.own, **checked.own},
        )
        task_checks.check_files_of_examples(part, data, inputs.own)
    return inputs


def report_data(label: str, data: TaskData) -> None:
    """Print the sizes, columns and labels of a data set, its notices and its warnings."""
    sizes = ", ".join(f"{len(examples)} {split}" for split, examples in data.splits.items())
    names = ", ".join(f"{index}={name}" for index, name in enumerate(data.label_names[:MAX_LABEL_NAMES]))
    names += f" and {len(data.label_names) - MAX_LABEL_NAMES} more" if len(data.label_names) > MAX_LABEL_NAMES else ""
    dropped = "".join(f"; {counted(count, 'row')} dropped ({reason})" for reason, count in data.dropped.items() if count)
    counts = "".join(f"; {repeats.describe_count(what, count)}" for what, count in data.counts.items() if count)
    progress.say(f"{label}: {sizes}; texts from {', '.join(data.columns)}; labels {names}{dropped}{counts}")
    for notice in data.notices:
        progress.say(f"{label}: {notice}")
    for warning in data.warnings:
        progress.warn(f"{label}: {warning}")
