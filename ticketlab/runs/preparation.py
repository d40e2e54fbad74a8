"""What a run works on, read and checked before anything is computed: the data, the challenge sets and the model of a recipe."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from attrs import evolve, frozen

from ticketlab.backbone import loading
from ticketlab.core import registry
from ticketlab.recipes.recipe import Recipe, split_checkpoint
from ticketlab.runs import copies, external_inputs, fingerprint, preflight
from ticketlab.runs.stage_cache import load_task, needs_model
from ticketlab.runs.stage_key import components_in
from ticketlab.stages.base import Stage
from ticketlab.tasks.base import TaskData
from ticketlab.tasks.datasets import challenge_sets


@frozen
class Prepared:
    """The data of each task and the challenge sets, by label; ``model`` is resolved, and empty where no stage needs it."""

    recipe: Recipe
    data: Mapping[str, TaskData]
    sets: Mapping[str, TaskData]
    model: str

    @property
    def stages(self) -> list[Stage]:
        """The stages of all tasks; those that tasks share come once."""
        return [stage for part in self.recipe.parts() for stage in part.stages.values()]

    def ood(self, part: Recipe) -> tuple[TaskData, ...]:
        """Return the challenge sets of some of the tasks."""
        return tuple(self.sets[task.label] for task in part.ood)

    def digest(self) -> str:
        """Return what tells a run from others of its recipe's name: the recipe, the data, models, other files, the code of plugins."""
        components = [part for stage in self.stages for part in components_in(stage)]
        versions = sorted(f"{part.kind}/{part.name} {registry.current().version(part)}" for part in components)
        others = [
            f"{name} {found}" for stage in self.stages for name, found in fingerprint.of_external_input(stage.external_inputs()).items()
        ]
        others += [fingerprint.of_model(self.model)] if self.model else []
        for part in self.recipe.parts():
            for stage in part.stages.values():
                for field, value in stage.references().items():
                    if split_checkpoint(value)[0] not in part.stages:
                        others += [f"{field} {found}" for _, found in external_inputs.resolve_all(field, value, part)]
        sets = [f"{read.name} {read.fingerprint}" for read in self.sets.values()]
        whole = [self.recipe.digest(), *(read.fingerprint for read in self.data.values()), *sets, *others, *versions]
        return hashlib.sha256("\n".join(whole).encode()).hexdigest()


def prepare(recipe: Recipe) -> Prepared:
    """Read the data and find the model.

    :raises UsageError: something is not there, or cannot be read.
    """
    data = {task.label: load_task(recipe.of(task), task) for task in recipe.tasks}
    sets = {task.label: challenge_sets.load(task) for part in recipe.parts() for task in part.ood}
    model = loading.resolve_model(recipe.model) if any(map(needs_model, recipe.parts())) else ""
    return Prepared(recipe, data, sets, model)


def checked(prepared: Prepared) -> Prepared:
    """Check that everything goes together, and return it with the challenge sets' overlaps with the tasks counted.

    :raises TicketlabError: labels do not fit, or something that a stage needs is not there or is not as it should be.
    """
    copies.check(prepared.recipe)
    for part in prepared.recipe.parts():
        own = [prepared.data[task.label] for task in part.tasks]
        preflight.labels(part, own, prepared.ood(part))
        preflight.measures(part, own)
        preflight.references(part)
        tasks, sets = preflight.overlaps(part, own, prepared.ood(part))
        prepared = evolve(
            prepared,
            data={**prepared.data, **{task.label: read for task, read in zip(part.tasks, tasks, strict=True)}},
            sets={**prepared.sets, **{task.label: read for task, read in zip(part.ood, sets, strict=True)}},
        )
        preflight.bias_files(part, own)
        preflight.augmentations(part, own)
    return prepared
