"""Preflight checks: errors in labels, files, references and resources that a run reports before it computes anything."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from pathlib import Path
from typing import Any

from ticketlab.attacks.results import augmentation
from ticketlab.attacks.results.similarity import find_encoder
from ticketlab.backbone.device import pick_precision
from ticketlab.bias_models import probabilities
from ticketlab.core import progress
from ticketlab.core.component import components_in, with_components
from ticketlab.core.errors import ResourceError, SettingError, UsageError
from ticketlab.core.references import stage_of
from ticketlab.lab.layout import BIAS, TICKET
from ticketlab.pruners.base import Pruner
from ticketlab.recipes import task_groups
from ticketlab.recipes.recipe import Recipe
from ticketlab.resources import textattack_import
from ticketlab.runs import external_inputs
from ticketlab.stages.base import Input, Stage
from ticketlab.stages.draw import Draw
from ticketlab.stages.training_data import AUGMENT
from ticketlab.stages.training_stage import Training
from ticketlab.tasks.base import TaskData
from ticketlab.tasks.datasets import challenge_sets
from ticketlab.tasks.reading.labels import check_positive_label
from ticketlab.tickets.ticket import Ticket
from ticketlab.training import parallel

CHECKED_SETTINGS = (
    *("task", "select", "select_on", "mix_ood", "watch_ood", "split", "pruner", "loss", "attacks", "similarity", "label_map"),
    "teacher_labels",
)
"""The settings of stages that the checks here and in :mod:`ticketlab.runs.task_checks` depend on, in addition to references."""


Signature = tuple[Any, ...]


def signature(recipe: Recipe, of_stages: dict[int, tuple[Stage, Signature]] | None = None) -> Signature:
    """Return what the checks of a recipe depend on, apart from its data: recipes with equal signatures need one check.

    Pass the same ``of_stages`` for many recipes: a stage object that they share is examined once.
    """
    known = {} if of_stages is None else of_stages
    return tuple(
        (
            tuple((task.label, task) for task in part.tasks),
            tuple((task.label, task) for task in part.ood),
            part.ood_map,
            part.train_rows,
            tuple((name, _of_stage(stage, known)) for name, stage in part.stages.items()),
        )
        for part in recipe.parts()
    )


def _of_stage(stage: Stage, known: dict[int, tuple[Stage, Signature]]) -> Signature:
    if id(stage) not in known:
        settings = (getattr(stage, setting, None) for setting in CHECKED_SETTINGS)
        known[id(stage)] = stage, (stage.name, stage.uses_task, *settings, *stage.references().items())
    return known[id(stage)][1]


def check_divided_batches(recipe: Recipe) -> None:
    """Check that batches can be divided among processes, if several train together.

    :raises UsageError: a component of a training needs all rows of a batch at once.
    """
    group = parallel.group()
    if group is None:
        return
    for part in recipe.parts():
        for name, stage in part.stages.items():
            if isinstance(stage, Training):
                try:
                    stage.check_divides_batches()
                except SettingError as problem:
                    raise UsageError(f"{name}: {problem}, so it cannot be trained by {group.number} processes") from None


def check_files_of_tasks(recipe: Recipe) -> None:
    """Check that the files of all tasks and challenge sets exist, before the first of them is read.

    :raises DataError: a file does not exist or is not readable.
    """
    parts = recipe.parts()
    for task in dict.fromkeys((*recipe.tasks, *(task for part in parts for task in part.ood), *task_groups.own_tasks(recipe))):
        task.check_files_exist()


def check_labels(recipe: Recipe, data: Sequence[TaskData], ood: Sequence[TaskData]) -> None:
    """Check that every challenge set fits every task, and print how its columns and labels are mapped to those of the task.

    :raises UsageError: labels do not fit, or a pair of ``ood_map`` applies to no set.
    :raises DataError: the numbers of texts per example differ; or examples of a set are to be mixed into training and there are none.
    """
    challenge_sets.check_pairs(recipe.ood_map, ood)
    if trains_on_challenge_sets(recipe):
        challenge_sets.check_mixable(ood)
    for task in data:
        for challenge_set in ood:
            name = f"{challenge_set.name} under {task.name}"
            challenge_sets.check_columns(task, challenge_set)
            if challenge_set.columns != task.columns:
                progress.say(f"{name}: {', '.join(challenge_set.columns)} are used as {', '.join(task.columns)}, in this order")
            meaning = challenge_sets.map_labels(challenge_set.name, task.label_names, challenge_set.label_names, recipe.ood_map)
            mapping = "; ".join(
                f"{label} is {' or '.join(task.label_names[index] for index in classes)}"
                for label, classes in zip(challenge_set.label_names, meaning, strict=True)
            )
            progress.say(f"{name}: {mapping}")


def measured_splits(recipe: Recipe) -> set[str]:
    """Return the splits that a recipe evaluates or attacks."""
    augmenting = {stage.references().get(AUGMENT) for stage in recipe.stages.values()}
    stages = [stage for name, stage in recipe.stages.items() if stage.measures_model and name not in augmenting]
    return {str(getattr(stage, "split", "test")) for stage in stages}


def measures_models_of_unknown_training(recipe: Recipe, known: Container[str]) -> bool:
    """Return whether a recipe measures an external model whose training texts are unknown. ``known`` has the names of all stages."""
    models = [stage.references().get("model", "") for stage in recipe.stages.values() if stage.measures_model]
    external = [model for model in models if model and stage_of(model) not in known]
    return any(external_inputs.resolve_reference("model", model, external_inputs.MODELS)[0].trained_on() is None for model in external)


def check_selection_metrics(recipe: Recipe, data: Sequence[TaskData]) -> None:
    """Check that every task has the metrics by which checkpoints are selected.

    :raises UsageError: the metric is binary F1 and a task has no positive label.
    :raises DataError: the positive label is not a label of the task.
    """
    for task in data:
        check_positive_label(task.name, task.positive_label, task.label_names)
        for name, stage in recipe.stages.items():
            selects = stage.uses_task and getattr(stage, "select", "last") == "best" and getattr(stage, "select_on", "") == "binary_f1"
            if selects and task.positive_label is None:
                raise UsageError(
                    f"{name}.select_on: binary_f1 is the F1 of a positive label, and `{task.name}` ({', '.join(task.label_names)}) "
                    "declares none: name it (of a file: --set tasks.local.positive_label=NAME), or choose macro_f1 or weighted_f1"
                )


def trains_on_challenge_sets(recipe: Recipe) -> bool:
    """Return whether a recipe mixes training examples of its challenge sets into those of a training stage."""
    return any(stage.uses_task and getattr(stage, "mix_ood", 0) for stage in recipe.stages.values())


def check_references(recipe: Recipe) -> None:
    """Check that the recipe's external files and models exist, and that a ticket for ``like`` has the units that the search scores.

    :raises TicketlabError: one of them does not.
    """
    for name, stage in recipe.stages.items():
        stage.external_inputs()
        for field, value in stage.references().items():
            if stage_of(value) in recipe.stages:
                continue
            for external, _ in external_inputs.resolve_for_tasks_and_seeds(field, value, recipe, stage):
                if field == "like" and isinstance(stage, Draw):
                    _check_unit_groups(
                        f"{name}.like", external.file(TICKET), getattr(recipe.stages.get(stage_of(stage.search)), "pruner", None)
                    )


def _check_unit_groups(where: str, file: Path, pruner: Pruner | None) -> None:
    groups, scored = Ticket.load(file).groups, pruner.groups() if pruner else ()
    if scored and set(scored) != set(groups):
        raise UsageError(f"{where}: {file} is a ticket of {' and '.join(groups)}, but the search scores {' and '.join(scored)}")


def check_precision(recipe: Recipe) -> None:
    """Check that every component of a recipe can compute in the precision of the run (:attr:`Component.precisions`).

    :raises UsageError: one cannot.
    """
    precision = pick_precision(recipe.precision)
    for name, stage in ((name, stage) for part in recipe.parts() for name, stage in part.stages.items()):
        if all(precision in part.precisions for part in with_components(stage)):
            continue
        for part in (stage, *components_in(stage, stage.identity())):  # an unused component computes nothing
            if precision not in part.precisions:
                chosen = f" (precision = auto is {precision} on this machine)" if recipe.precision == "auto" else ""
                raise UsageError(
                    f"{name}: the {part.kind} `{part.name}` cannot compute in {precision}{chosen}; "
                    f"set the precision of the run: --precision {' or '.join(part.precisions)}"
                )


def check_resources(recipe: Recipe) -> None:
    """Check that the packages of a recipe's stages and the resources of its attacks are available.

    TextAttack itself is imported only when an attack is computed.

    :raises ResourceError: one or more are missing; the message lists them all with the attacks that need them and the flags to set them.
    """
    missing: dict[str, dict[str, None]] = {}
    for stage in (stage for part in recipe.parts() for stage in part.stages.values()):
        stage.check_packages()
        for attack in getattr(stage, "attacks", ()):
            try:
                attack.find()
            except ResourceError as problem:
                missing.setdefault(str(problem).removeprefix(f"--attack {attack.label}: "), {})[attack.label] = None
        find_encoder(getattr(stage, "similarity", None))
    if missing:
        problems = "; ".join(f"--attack {', '.join(labels)}: {problem}" for problem, labels in missing.items())
        raise ResourceError(f"{problems}{'; `--attack deepwordbug` needs no resources' if textattack_import.installed() else ''}")


def check_bias_files(recipe: Recipe, data: Sequence[TaskData], known: Collection[str]) -> None:
    """Check that each external file of a bias model's probabilities has all training examples. ``known`` has the names of all stages.

    :raises DataError: a file lacks an example.
    """
    for external in _external_files(recipe, "bias", known):
        for task in data:
            probabilities.read(external.file(BIAS), task.examples("train"), task.label_names)


def check_augmentation_files(recipe: Recipe, data: Sequence[TaskData], known: Collection[str]) -> None:
    """Check that the texts in external augmentation files are derived from training examples of every task.

    ``known`` has the names of all stages.

    :raises UsageError: a file has no such texts, or they are derived from examples that must not be trained on.
    """
    for external in _external_files(recipe, AUGMENT, known):
        texts = augmentation.read_texts(external.folder, is_stage=external.is_stage)
        for task in data:
            augmentation.augment(task, texts)


def _external_files(recipe: Recipe, field: str, known: Collection[str]) -> list[Input]:
    """Return the files and folders that the setting ``field`` of stages names, other than stages."""
    values = {
        stage.references()[field]: external_inputs.accepted_kinds(stage, field)
        for stage in recipe.stages.values()
        if field in stage.references()
    }
    return [external_inputs.resolve_reference(field, value, values[value])[0] for value in sorted(values.keys() - set(known))]
