"""The inputs of a run - its data, challenge sets and model - loaded and checked before anything is computed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from attrs import evolve, frozen

from ticketlab.backbone import loading
from ticketlab.core import registry
from ticketlab.recipes.recipe import Recipe, split_checkpoint
from ticketlab.runs import copied_outputs, external_inputs, fingerprint, preflight
from ticketlab.runs.stage_key import components_in
from ticketlab.stages.base import Stage
from ticketlab.tasks.base import Task, TaskData
from ticketlab.tasks.datasets import challenge_sets


@frozen
class RunInputs:
    """The data of each task and the challenge sets, by label. ``model`` is the resolved model, empty if no stage needs it."""

    recipe: Recipe
    data: Mapping[str, TaskData]
    sets: Mapping[str, TaskData]
    model: str

    @property
    def stages(self) -> list[Stage]:
        """The stages of all tasks; stages that tasks share are listed once."""
        return [stage for part in self.recipe.parts() for stage in part.stages.values()]

    def ood(self, part: Recipe) -> tuple[TaskData, ...]:
        """Return the challenge sets of the tasks in a part of the recipe."""
        return tuple(self.sets[task.label] for task in part.ood)

    def digest(self) -> str:
        """Return a hash of everything that distinguishes runs of recipes with the same name.

        It covers the recipe, the data, models, other files and the code of plugins.
        """
        components = [part for stage in self.stages for part in components_in(stage)]
        versions = sorted(f"{part.kind}/{part.name} {registry.current().version(part)}" for part in components)
        others = [
            f"{name} {content}"
            for stage in self.stages
            for name, content in fingerprint.of_external_inputs(stage.external_inputs()).items()
        ]
        others += [fingerprint.of_model(self.model)] if self.model else []
        for part in self.recipe.parts():
            for stage in part.stages.values():
                for field, value in stage.references().items():
                    if split_checkpoint(value)[0] not in part.stages:
                        others += [f"{field} {key}" for _, key in external_inputs.resolve_for_tasks_and_seeds(field, value, part)]
        sets = [f"{data.name} {data.fingerprint}" for data in self.sets.values()]
        whole = [self.recipe.digest(), *(data.fingerprint for data in self.data.values()), *sets, *others, *versions]
        return hashlib.sha256("\n".join(whole).encode()).hexdigest()


def load_run_inputs(recipe: Recipe) -> RunInputs:
    """Load the data and resolve the model.

    :raises UsageError: one of them does not exist or cannot be read.
    """
    data = {task.label: load_task_data(recipe.of(task), task) for task in recipe.tasks}
    sets = {task.label: challenge_sets.load(task) for part in recipe.parts() for task in part.ood}
    model = loading.resolve_model(recipe.model) if any(map(needs_model, recipe.parts())) else ""
    return RunInputs(recipe, data, sets, model)


def load_task_data(recipe: Recipe, task: Task) -> TaskData:
    """Load a task of the recipe. The recipe's ``train_rows`` applies if the task has none."""
    return (evolve(task, train_rows=recipe.train_rows) if task.train_rows is None else task).load()


def needs_model(recipe: Recipe) -> bool:
    """Return whether a stage loads the recipe's model."""
    return any(stage.name in ("train", "search", "draw") or getattr(stage, "needs_model", False) for stage in recipe.stages.values())


def check_run_inputs(inputs: RunInputs) -> RunInputs:
    """Run the preflight checks. Returns the inputs with warnings about overlaps between splits, tasks and challenge sets.

    :raises TicketlabError: labels do not fit, or something that a stage needs is missing or unusable.
    """
    copied_outputs.check_unique_names(inputs.recipe)
    for part in inputs.recipe.parts():
        own = [inputs.data[task.label] for task in part.tasks]
        preflight.check_labels(part, own, inputs.ood(part))
        preflight.check_selection_metrics(part, own)
        preflight.check_references(part)
        tasks, sets = preflight.with_overlap_warnings(part, own, inputs.ood(part))
        inputs = evolve(
            inputs,
            data={**inputs.data, **{task.label: data for task, data in zip(part.tasks, tasks, strict=True)}},
            sets={**inputs.sets, **{task.label: data for task, data in zip(part.ood, sets, strict=True)}},
        )
        preflight.check_bias_files(part, own)
        preflight.check_augmentation_files(part, own)
    return inputs
