"""What is found out before anything is computed: challenge sets and files of texts that do not fit, and files that are not there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ticketlab import progress
from ticketlab.attacks import augmentation
from ticketlab.bias_models import probabilities
from ticketlab.lab import outside
from ticketlab.recipe import Recipe, named_checkpoint
from ticketlab.stages.base import BIAS
from ticketlab.tasks import challenge
from ticketlab.tasks.base import TaskData


def labels(recipe: Recipe, data: Sequence[TaskData], ood: Sequence[TaskData]) -> None:
    """Check that every challenge set fits every task, and say how its labels are read.

    :raises UsageError: labels do not fit, or a pair of ``ood_map`` concerns no set.
    :raises DataError: a set has another number of texts than a task; examples are to be mixed in and there are none.
    """
    challenge.check_pairs(recipe.ood_map, ood)
    if any(stage.uses_task and getattr(stage, "mix_ood", 0) for stage in recipe.stages.values()):
        challenge.check_mixable(ood)
    for read in data:
        for other in ood:
            challenge.check_columns(read, other)
            if other.columns != read.columns:
                progress.say(
                    f"{other.name} under {read.name}: {', '.join(other.columns)} stand for {', '.join(read.columns)}, in this order"
                )
            meaning = challenge.meaning(other.name, read.label_names, other.label_names, recipe.ood_map)
            words = "; ".join(
                f"{name} is {' or '.join(read.label_names[index] for index in classes)}"
                for name, classes in zip(other.label_names, meaning, strict=True)
            )
            progress.say(f"{other.name} under {read.name}: {words}")


def references(recipe: Recipe) -> None:
    """Check that the files and models outside the recipe are there.

    :raises TicketlabError: one is not.
    """
    for stage in recipe.stages.values():
        stage.outside()
        for field, value in stage.references().items():
            if named_checkpoint(value)[0] not in recipe.stages:
                outside.resolve(field, value)


def bias_files(recipe: Recipe, data: Sequence[TaskData]) -> None:
    """Check that each file of a bias model's probabilities has all training examples.

    :raises DataError: one has not.
    """
    values = {stage.references()["bias"] for stage in recipe.stages.values() if "bias" in stage.references()}
    for value in sorted(values - recipe.stages.keys()):
        place, _ = outside.resolve("bias", value)
        for read in data:
            probabilities.read(place.file(BIAS), read.examples("train"), read.label_names)


def augmentations(recipe: Recipe, data: Sequence[TaskData]) -> None:
    """Check that files of changed texts from outside the recipe come from training examples of every task.

    :raises UsageError: a file is none of such texts, or they come from examples that no training may learn from.
    """
    values = {stage.references()["augment"] for stage in recipe.stages.values() if "augment" in stage.references()}
    for value in sorted(values - recipe.stages.keys()):
        place, _ = outside.resolve("augment", value)
        texts = augmentation.texts_of(Path(place.location), is_stage=place.is_stage)
        for read in data:
            augmentation.augment(read, texts)
