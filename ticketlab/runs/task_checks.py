"""Preflight checks of the data that the stages of a recipe use, group by group where stages have tasks of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence

from attrs import frozen

from ticketlab.backbone import loading
from ticketlab.core.errors import UsageError
from ticketlab.core.references import stage_of
from ticketlab.losses.base import inputs_of
from ticketlab.recipes.recipe import Recipe
from ticketlab.recipes.task_groups import by_data, own_task
from ticketlab.runs import external_inputs, preflight
from ticketlab.stages.attack import AttackStage
from ticketlab.stages.base import Stage
from ticketlab.stages.training_data import AUGMENT
from ticketlab.stages.training_stage import Training
from ticketlab.tasks import label_map
from ticketlab.tasks.assembly import repeats
from ticketlab.tasks.base import Task, TaskData

LABEL_MAPS = {"model": "label_map", "teacher": "teacher_labels"}
"""The settings that translate the labels of the classifier to which a setting refers."""

OwnData = Mapping[Task, TaskData]
"""The data of tasks that stages name themselves; some may be missing in a plan."""


@frozen
class CheckedData:
    """The tasks, the challenge sets and the stages' own tasks of a recipe, with warnings about texts in several splits."""

    data: tuple[TaskData, ...]
    sets: tuple[TaskData, ...]
    own: OwnData


def check_data(recipe: Recipe, data: Sequence[TaskData], ood: Sequence[TaskData] | None, own: OwnData) -> None:
    """Check labels and selection metrics, and that the classifiers, bias models and texts that stages exchange fit the tasks of both.

    ``data`` is that of the recipe's tasks. Challenge sets are not checked if ``ood`` is None.

    :raises UsageError: see :func:`ticketlab.runs.preflight.check_labels` and :func:`ticketlab.runs.preflight.check_selection_metrics`; or a
        stage uses the output of a stage with another task that it cannot use.
    :raises DataError: see the same functions.
    """
    for task, group in by_data(recipe).items():
        of_group = _data_of_group(task, data, own)
        reader = next((name for name, stage in group.stages.items() if stage.uses_ood), None)
        if ood is not None and task is None:
            preflight.check_labels(group, of_group, ood)
        elif ood is not None and reader is not None:
            try:
                preflight.check_labels(group, of_group, ood)
            except UsageError as problem:
                raise type(problem)(f"{reader}.task: {problem}") from None
        preflight.check_selection_metrics(group, of_group)
    for of_run in data:
        _check_exchanges(recipe, functools.partial(_data_of_stage, recipe, of_run=of_run, own=own))


def check_external_classifiers(recipe: Recipe, data: Sequence[TaskData], own: OwnData) -> None:
    """Check the labels of classifiers outside the recipe that its stages measure, or learn from.

    :raises UsageError: they do not match those of the task, or the model is not a classifier with one label per text.
    """
    for name, stage in recipe.stages.items():
        for field, value in stage.references().items():
            matched = field in LABEL_MAPS and hasattr(stage, LABEL_MAPS[field]) and not _learns_hidden_states(stage)
            if not matched or stage_of(value) in recipe.stages:
                continue
            names = loading.classifier_labels(external_inputs.resolve_reference(field, value, external_inputs.MODELS)[0].model)
            for of_stage in (_data_of_stage(recipe, name, of_run, own) for of_run in data):
                if names and of_stage is not None:
                    _match_labels(stage, field, names, of_stage, flag="--label-map" if field == "model" else f"{name}.{LABEL_MAPS[field]}")


def check_files_of_examples(recipe: Recipe, data: Sequence[TaskData], own: OwnData) -> None:
    """Check that external files of bias models and adversarial texts fit the training examples of the stages that use them.

    :raises TicketlabError: see :func:`ticketlab.runs.preflight.check_bias_files` and
        :func:`ticketlab.runs.preflight.check_augmentation_files`.
    """
    for task, group in by_data(recipe).items():
        of_group = _data_of_group(task, data, own)
        preflight.check_bias_files(group, of_group, recipe.stages)
        preflight.check_augmentation_files(group, of_group, recipe.stages)


def with_overlap_warnings(recipe: Recipe, data: Sequence[TaskData], ood: Sequence[TaskData], own: OwnData) -> CheckedData:
    """Return the data with warnings about texts that occur in several of the splits that the stages use.

    For challenge sets, the texts that also occur in the training and test data of all tasks are counted. If the training texts of an
    external model are known (:mod:`ticketlab.tasks.trained_on`), the evaluation counts the overlaps instead, since the model was not
    trained on the training split of this data.
    """
    groups = by_data(recipe)
    warned = tuple(_with_split_warnings(recipe, groups[None], task, {"test"}) for task in data)
    warned_own = {task: _with_split_warnings(recipe, group, own[task], set()) for task, group in groups.items() if task is not None}
    trains, mixed = _trains(recipe), preflight.trains_on_challenge_sets(recipe)
    may_know = trains or preflight.measures_models_of_unknown_training(recipe, recipe.stages)
    in_test = {"test"} if mixed or (may_know and not trains) else set()
    sets = (repeats.with_warnings_for(challenge_set, {"test"}, in_test) for challenge_set in ood)
    known = {task.fingerprint for task in data}
    others = [*data, *(task for task in warned_own.values() if task.fingerprint not in known)]
    counted = (repeats.with_overlap_counts(challenge_set, others, mixed=mixed) if may_know else challenge_set for challenge_set in sets)
    return CheckedData(warned, tuple(counted), warned_own)


def _with_split_warnings(recipe: Recipe, group: Recipe, data: TaskData, measured_otherwise: Collection[str]) -> TaskData:
    """Return data with the warnings about the splits that the stages in ``group`` use; ``recipe`` has all stages."""
    measured, trains = preflight.measured_splits(group) or set(measured_otherwise), _trains(group)
    may_know = trains or preflight.measures_models_of_unknown_training(group, recipe.stages)
    return repeats.with_warnings_for(data, measured, {*measured, "dev"} if trains else measured if may_know else set())


def _trains(recipe: Recipe) -> bool:
    return any(stage.uses_task and isinstance(stage, Training) for stage in recipe.stages.values())


def _data_of_group(task: Task | None, data: Sequence[TaskData], own: OwnData) -> Sequence[TaskData]:
    if task is None:
        return data
    return [own[task]] if task in own else []


def _data_of_stage(recipe: Recipe, name: str, of_run: TaskData, own: OwnData) -> TaskData | None:
    """Return the data that a stage uses; None if it uses no task, or it is not on this machine."""
    task = own_task(recipe, name)
    if task is not None:
        return own.get(task)
    return of_run if recipe.stages[name].uses_task else None


def _check_exchanges(recipe: Recipe, data_of: Callable[[str], TaskData | None]) -> None:
    """Check each reference from a stage to a stage with other data."""
    for name, stage in recipe.stages.items():
        for field, value in stage.references().items():
            maker = stage_of(value)
            if maker in recipe.stages and (own := data_of(name)) and (other := data_of(maker)) and own.fingerprint != other.fingerprint:
                _check_exchange(name, stage, field, maker, own, other)


def _check_exchange(name: str, stage: Stage, field: str, maker: str, own: TaskData, other: TaskData) -> None:
    """Check that a stage on ``own`` can use the output of the stage ``maker``, which is on ``other``.

    :raises UsageError: it cannot; the message begins with the path of the setting.
    """
    if field in ("bias", AUGMENT):
        raise UsageError(
            f"{name}.{field}: `{maker}` is about examples of {other.name}, and `{name}` learns those of {own.name}; give both stages the "
            f"same task ({maker}.task, {name}.task)"
        )
    if field == "start" and _folded(own) != _folded(other):
        raise UsageError(
            f"{name}.start: `{maker}` is a classifier for {', '.join(other.label_names)} ({other.name}), and `{name}` learns "
            f"{', '.join(own.label_names)} ({own.name}), in this order; start from `pretrained` or from a stage with the same labels. A "
            "ticket may come from any task"
        )
    if field in LABEL_MAPS:
        try:
            _match_labels(stage, field, other.label_names, own, flag=f"{name}.{LABEL_MAPS[field]}")
        except UsageError as problem:
            raise UsageError(f"{name}.{field}: `{maker}` is trained on {other.name}, and `{name}` uses {own.name}: {problem}") from None


def _match_labels(stage: Stage, field: str, model_names: Sequence[str], own: TaskData, *, flag: str) -> None:
    """Match the labels of the classifier that a stage measures, or learns from, with those of its task."""
    pairs = getattr(stage, LABEL_MAPS[field], ())
    if field == "model" and isinstance(stage, AttackStage):
        label_map.labels_of_outputs(model_names, own.label_names, pairs)
    else:
        label_map.match_labels(model_names, own.label_names, pairs, flag=flag)


def _learns_hidden_states(stage: Stage) -> bool:
    return isinstance(stage, Training) and "teacher" not in inputs_of(stage.loss)


def _folded(data: TaskData) -> list[str]:
    return [label.casefold() for label in data.label_names]
