"""What is found out before anything is computed: challenge sets and files of texts that do not fit, and files that are not there."""

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
from ticketlab.stages.training import AUGMENT
from ticketlab.tasks.assembly import repeats
from ticketlab.tasks.base import TaskData
from ticketlab.tasks.datasets import challenge_sets
from ticketlab.tasks.reading.labels import check_positive
from ticketlab.tickets.ticket import Ticket


def labels(recipe: Recipe, data: Sequence[TaskData], ood: Sequence[TaskData]) -> None:
    """Check that every challenge set fits every task, and say how its labels are read.

    :raises UsageError: labels do not fit, or a pair of ``ood_map`` concerns no set.
    :raises DataError: a set has another number of texts than a task; examples are to be mixed in and there are none.
    """
    challenge_sets.check_pairs(recipe.ood_map, ood)
    if mixes(recipe):
        challenge_sets.check_mixable(ood)
    for read in data:
        for other in ood:
            challenge_sets.check_columns(read, other)
            if other.columns != read.columns:
                progress.say(
                    f"{other.name} under {read.name}: {', '.join(other.columns)} stand for {', '.join(read.columns)}, in this order"
                )
            meaning = challenge_sets.meaning(other.name, read.label_names, other.label_names, recipe.ood_map)
            words = "; ".join(
                f"{name} is {' or '.join(read.label_names[index] for index in classes)}"
                for name, classes in zip(other.label_names, meaning, strict=True)
            )
            progress.say(f"{other.name} under {read.name}: {words}")


def overlaps(recipe: Recipe, data: Sequence[TaskData], ood: Sequence[TaskData]) -> tuple[tuple[TaskData, ...], tuple[TaskData, ...]]:
    """Return tasks and challenge sets with the warnings of the splits that the recipe looks at.

    Challenge sets then say how many of their texts the tasks train or are tested on. Of models from outside whose training texts are known
    (:mod:`ticketlab.tasks.trained_on`) the evaluation itself counts them: the training split of the data at hand is not theirs.
    """
    measured, trains = _measured(recipe), any(stage.uses_task and stage.name in TRAININGS for stage in recipe.stages.values())
    may_know = trains or _unknown_models(recipe)
    after_training = {*measured, "dev"} if trains else measured if may_know else set()
    tasks = tuple(repeats.looked_at(read, measured, after_training) for read in data)
    own = {"test"} if mixes(recipe) or (may_know and not trains) else set()
    sets = (repeats.looked_at(other, {"test"}, own) for other in ood)
    return tasks, tuple(repeats.beside(other, data, mixed=mixes(recipe)) if may_know else other for other in sets)


def _measured(recipe: Recipe) -> set[str]:
    """Return the splits that a recipe evaluates or attacks on; the test, if it does neither."""
    learnt = {stage.references().get(AUGMENT) for stage in recipe.stages.values()}
    stages = [stage for name, stage in recipe.stages.items() if stage.name in results_metadata.MEASURING and name not in learnt]
    return {str(getattr(stage, "split", "test")) for stage in stages} or {"test"}


def _unknown_models(recipe: Recipe) -> bool:
    """Say whether a recipe measures a model from outside of which nobody knows what it was trained on."""
    models = [stage.references().get("model", "") for stage in recipe.stages.values() if stage.name in results_metadata.MEASURING]
    outer = [model for model in models if model and split_checkpoint(model)[0] not in recipe.stages]
    return any(external_inputs.resolve("model", model)[0].trained_on() is None for model in outer)


def measures(recipe: Recipe, data: Sequence[TaskData]) -> None:
    """Check that every task has the measures that checkpoints are selected by.

    :raises UsageError: a binary F1, and a task without a positive label.
    :raises DataError: a positive label that a task does not have.
    """
    for read in data:
        check_positive(read.name, read.positive_label, read.label_names)
        for name, stage in recipe.stages.items():
            selects = stage.uses_task and getattr(stage, "select", "last") == "best" and getattr(stage, "select_on", "") == "binary_f1"
            if selects and read.positive_label is None:
                raise UsageError(
                    f"{name}.select_on: binary_f1 is the F1 of a positive label, and `{read.name}` ({', '.join(read.label_names)}) "
                    "declares none: name it (of a file: --set tasks.local.positive_label=NAME), or choose macro_f1 or weighted_f1"
                )


def mixes(recipe: Recipe) -> bool:
    """Say whether a recipe learns from training examples of its challenge sets."""
    return any(stage.uses_task and getattr(stage, "mix_ood", 0) for stage in recipe.stages.values())


def references(recipe: Recipe) -> None:
    """Check that the files and models outside the recipe are there, and that what is drawn like a ticket has its kinds of units.

    :raises TicketlabError: one is not, or has not.
    """
    for name, stage in recipe.stages.items():
        stage.external_inputs()
        for field, value in stage.references().items():
            if split_checkpoint(value)[0] in recipe.stages:
                continue
            for place, _ in external_inputs.resolve_all(field, value, recipe):
                if field == "like" and isinstance(stage, Draw):
                    _alike(f"{name}.like", place.file(TICKET), getattr(recipe.stages.get(stage.search), "pruner", None))


def _alike(where: str, file: Path, pruner: Pruner | None) -> None:
    groups, scored = Ticket.load(file).groups, pruner.groups() if pruner else ()
    if scored and set(scored) != set(groups):
        raise UsageError(f"{where}: {file} is a ticket of {' and '.join(groups)}, and the search scores {' and '.join(scored)}")


def resources(recipe: Recipe) -> None:
    """Check that what the attacks of a recipe need is there. Their engine is looked for once one is to be computed.

    :raises ResourceError: something is missing; the message has all of it, the attacks that need it, and the flags that say where it is.
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
        found = "; ".join(f"--attack {', '.join(labels)}: {problem}" for problem, labels in missing.items())
        raise ResourceError(f"{found}{'; `--attack deepwordbug` needs none of this' if textattack_import.installed() else ''}")


def bias_files(recipe: Recipe, data: Sequence[TaskData]) -> None:
    """Check that each file of a bias model's probabilities has all training examples.

    :raises DataError: one has not.
    """
    values = {stage.references()["bias"] for stage in recipe.stages.values() if "bias" in stage.references()}
    for value in sorted(values - recipe.stages.keys()):
        place, _ = external_inputs.resolve("bias", value)
        for read in data:
            probabilities.read(place.file(BIAS), read.examples("train"), read.label_names)


def augmentations(recipe: Recipe, data: Sequence[TaskData]) -> None:
    """Check that files of changed texts from outside the recipe come from training examples of every task.

    :raises UsageError: a file is none of such texts, or they come from examples that no training may learn from.
    """
    values = {stage.references()["augment"] for stage in recipe.stages.values() if "augment" in stage.references()}
    for value in sorted(values - recipe.stages.keys()):
        place, _ = external_inputs.resolve("augment", value)
        texts = augmentation.texts_of(place.folder, is_stage=place.is_stage)
        for read in data:
            augmentation.augment(read, texts)
