"""Preflight checks: errors in labels, files, references and resources that a run reports before it computes anything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ticketlab.attacks.results import augmentation
from ticketlab.attacks.results.similarity import find_encoder
from ticketlab.bias_models import probabilities
from ticketlab.core import progress
from ticketlab.core.errors import ResourceError, UsageError
from ticketlab.lab.layout import BIAS, TICKET
from ticketlab.lab.results import TRAININGS
from ticketlab.pruners.base import Pruner
from ticketlab.recipes.recipe import Recipe, split_checkpoint
from ticketlab.resources import textattack_import
from ticketlab.runs import external_inputs, results_metadata
from ticketlab.stages.draw import Draw
from ticketlab.stages.training_data import AUGMENT
from ticketlab.tasks.assembly import repeats
from ticketlab.tasks.base import TaskData
from ticketlab.tasks.datasets import challenge_sets
from ticketlab.tasks.reading.labels import check_positive_label
from ticketlab.tickets.ticket import Ticket


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


def with_overlap_warnings(
    recipe: Recipe, data: Sequence[TaskData], ood: Sequence[TaskData]
) -> tuple[tuple[TaskData, ...], tuple[TaskData, ...]]:
    """Return the tasks and the challenge sets with warnings about texts that occur in several of the splits that the recipe uses.

    For challenge sets, the texts that also occur in the tasks' training and test data are counted. If the training texts of an external
    model are known (:mod:`ticketlab.tasks.trained_on`), the evaluation counts the overlaps instead, since the model was not trained on the
    training split of this data.
    """
    measured, trains = _measured_splits(recipe), any(stage.uses_task and stage.name in TRAININGS for stage in recipe.stages.values())
    may_know = trains or _measures_models_of_unknown_training(recipe)
    after_training = {*measured, "dev"} if trains else measured if may_know else set()
    tasks = tuple(repeats.with_warnings_for(task, measured, after_training) for task in data)
    own = {"test"} if trains_on_challenge_sets(recipe) or (may_know and not trains) else set()
    sets = (repeats.with_warnings_for(challenge_set, {"test"}, own) for challenge_set in ood)
    mixed = trains_on_challenge_sets(recipe)
    return tasks, tuple(
        repeats.with_overlap_counts(challenge_set, data, mixed=mixed) if may_know else challenge_set for challenge_set in sets
    )


def _measured_splits(recipe: Recipe) -> set[str]:
    """Return the splits that a recipe evaluates or attacks; the test split if it does neither."""
    augmenting = {stage.references().get(AUGMENT) for stage in recipe.stages.values()}
    stages = [stage for name, stage in recipe.stages.items() if stage.name in results_metadata.MEASURING_KINDS and name not in augmenting]
    return {str(getattr(stage, "split", "test")) for stage in stages} or {"test"}


def _measures_models_of_unknown_training(recipe: Recipe) -> bool:
    """Return whether a recipe measures an external model whose training texts are unknown."""
    models = [stage.references().get("model", "") for stage in recipe.stages.values() if stage.name in results_metadata.MEASURING_KINDS]
    external = [model for model in models if model and split_checkpoint(model)[0] not in recipe.stages]
    return any(external_inputs.resolve_reference("model", model)[0].trained_on() is None for model in external)


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
            if split_checkpoint(value)[0] in recipe.stages:
                continue
            for external, _ in external_inputs.resolve_for_tasks_and_seeds(field, value, recipe):
                if field == "like" and isinstance(stage, Draw):
                    _check_unit_groups(f"{name}.like", external.file(TICKET), getattr(recipe.stages.get(stage.search), "pruner", None))


def _check_unit_groups(where: str, file: Path, pruner: Pruner | None) -> None:
    groups, scored = Ticket.load(file).groups, pruner.groups() if pruner else ()
    if scored and set(scored) != set(groups):
        raise UsageError(f"{where}: {file} is a ticket of {' and '.join(groups)}, but the search scores {' and '.join(scored)}")


def check_resources(recipe: Recipe) -> None:
    """Check that the resources of a recipe's attacks are available. TextAttack itself is imported only when an attack is computed.

    :raises ResourceError: one or more are missing; the message lists them all with the attacks that need them and the flags to set them.
    """
    missing: dict[str, dict[str, None]] = {}
    for stage in (stage for part in recipe.parts() for stage in part.stages.values()):
        for attack in getattr(stage, "attacks", ()):
            try:
                attack.find()
            except ResourceError as problem:
                missing.setdefault(str(problem).removeprefix(f"--attack {attack.label}: "), {})[attack.label] = None
        find_encoder(getattr(stage, "similarity", None))
    if missing:
        problems = "; ".join(f"--attack {', '.join(labels)}: {problem}" for problem, labels in missing.items())
        raise ResourceError(f"{problems}{'; `--attack deepwordbug` needs no resources' if textattack_import.installed() else ''}")


def check_bias_files(recipe: Recipe, data: Sequence[TaskData]) -> None:
    """Check that each external file of a bias model's probabilities has all training examples.

    :raises DataError: a file lacks an example.
    """
    values = {stage.references()["bias"] for stage in recipe.stages.values() if "bias" in stage.references()}
    for value in sorted(values - recipe.stages.keys()):
        external, _ = external_inputs.resolve_reference("bias", value)
        for task in data:
            probabilities.read(external.file(BIAS), task.examples("train"), task.label_names)


def check_augmentation_files(recipe: Recipe, data: Sequence[TaskData]) -> None:
    """Check that the texts in external augmentation files are derived from training examples of every task.

    :raises UsageError: a file has no such texts, or they are derived from examples that must not be trained on.
    """
    values = {stage.references()["augment"] for stage in recipe.stages.values() if "augment" in stage.references()}
    for value in sorted(values - recipe.stages.keys()):
        external, _ = external_inputs.resolve_reference("augment", value)
        texts = augmentation.read_texts(external.folder, is_stage=external.is_stage)
        for task in data:
            augmentation.augment(task, texts)
